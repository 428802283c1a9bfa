#include "service/grpc/messages/configs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>

#include "service/json/decode/decode.h"

namespace quiver::service::rpc {
namespace {

TEST(GrpcConfigs, ACreationIsTheRestBody) {
  qdrant::CreateCollection request;
  request.set_collection_name("c");
  request.set_timeout(5);
  auto& field = (*request.mutable_vectors_config()->mutable_params_map()->mutable_map())["a"];
  field.set_size(4);
  field.set_distance(qdrant::Dot);
  field.set_datatype(qdrant::Float16);
  field.mutable_multivector_config()->set_comparator(qdrant::MaxSim);
  request.mutable_hnsw_config()->set_m(0);
  request.mutable_optimizers_config()->mutable_max_optimization_threads()->set_setting(
      qdrant::MaxOptimizationThreads::Auto);
  request.mutable_quantization_config()->mutable_binary()->set_encoding(qdrant::OneAndHalfBits);
  (*request.mutable_metadata())["x"].set_integer_value(1);
  EXPECT_EQ(json_of(request).value(),
            R"({"hnsw_config":{"m":0},"optimizers_config":{"max_optimization_threads":"auto"},)"
            R"("vectors":{"a":{"size":4,"distance":"Dot","datatype":"float16",)"
            R"("multivector_config":{"comparator":"max_sim"}}},)"
            R"("quantization_config":{"binary":{"encoding":"one_and_half_bits"}},)"
            R"("metadata":{"x":1}})");
}

TEST(GrpcConfigs, APatchOfTheUnnamedFieldIsUnderTheEmptyName) {
  qdrant::UpdateCollection request;
  request.mutable_vectors_config()->mutable_params()->set_on_disk(true);
  request.mutable_quantization_config()->mutable_disabled();
  EXPECT_EQ(json_of(request).value(),
            R"({"vectors":{"":{"on_disk":true}},"quantization_config":"Disabled"})");
}

TEST(GrpcConfigs, AnUnknownNumberOfAnEnumerationIsAnError) {
  qdrant::CreateCollection request;
  request.set_sharding_method(static_cast<qdrant::ShardingMethod>(77));
  const auto refused = json_of(request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("sharding_method: unknown variant `77`"), std::string::npos);
}

TEST(GrpcConfigs, AnIndexHasAType) {
  qdrant::CreateFieldIndexCollection request;
  request.set_field_name("k");
  EXPECT_EQ(json_of(request).value(), R"({"field_name":"k"})");
  request.set_field_type(qdrant::FieldTypeDatetime);
  EXPECT_EQ(json_of(request).value(), R"({"field_name":"k","field_schema":"datetime"})");
  request.mutable_field_index_params()->mutable_text_index_params()->set_tokenizer(qdrant::Word);
  EXPECT_EQ(json_of(request).value(),
            R"({"field_name":"k","field_schema":{"type":"text","tokenizer":"word"}})");
}

TEST(GrpcConfigs, AnIndexOfTextsHasAnAnalyzer) {
  qdrant::CreateFieldIndexCollection request;
  request.set_field_name("k");
  auto& text = *request.mutable_field_index_params()->mutable_text_index_params();
  text.mutable_stopwords()->add_languages("german");
  text.mutable_stopwords()->add_custom("x");
  text.mutable_stemmer()->mutable_snowball()->set_language("german");
  std::string snowball = json_of(request).value();
  const auto decoded = json::decode_index(snowball);
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(decoded->text.stemmer, payload::StemmerLanguage::kGerman);
  EXPECT_EQ(decoded->text.stopwords,
            (payload::Stopwords{{payload::StopwordLanguage::kGerman}, {"x"}}));
  text.mutable_stemmer()->mutable_disabled();
  std::string none = json_of(request).value();
  const auto without = json::decode_index(none);
  ASSERT_TRUE(without) << without.error().text;
  EXPECT_EQ(without->text.stemmer, std::nullopt);
}

TEST(GrpcConfigs, InfoIsReadFromItsJson) {
  std::string json =
      R"({"status":"yellow","optimizer_status":{"error":"full"},"points_count":7,"segments_count":2,)"
      R"("config":{"params":{"vectors":{"size":4,"distance":"Cosine"},"shard_number":1,)"
      R"("sparse_vectors":{"s":{"modifier":"idf"}}},"optimizer_config":{"max_optimization_threads":)"
      R"(3,"max_segment_size":null}},"payload_schema":{"k":{"data_type":"keyword","points":5,)"
      R"("params":{"type":"keyword","is_tenant":true}}},"unknown":{}})";
  qdrant::CollectionInfo info;
  ASSERT_TRUE(set_info(json, info));
  EXPECT_EQ(info.status(), qdrant::Yellow);
  EXPECT_EQ(info.optimizer_status().error(), "full");
  EXPECT_EQ(info.points_count(), 7U);
  EXPECT_EQ(info.config().params().vectors_config().params().distance(), qdrant::Cosine);
  const auto& sparse = info.config().params().sparse_vectors_config().map();
  EXPECT_EQ(sparse.at("s").modifier(), qdrant::Idf);
  const auto& optimizer = info.config().optimizer_config();
  EXPECT_EQ(optimizer.max_optimization_threads().value(), 3U);
  EXPECT_FALSE(optimizer.has_max_segment_size());
  EXPECT_TRUE(info.payload_schema().at("k").params().keyword_index_params().is_tenant());
  EXPECT_FALSE(info.has_created_at());
}

TEST(GrpcConfigs, InfoSaysWhenTheCollectionWasCreated) {
  for (const auto& [text, seconds, nanos] :
       {std::tuple("2025-11-25T01:00:00.123000Z", 1'764'032'400, 123'000'000),
        std::tuple("1969-12-31T23:59:59.5Z", -1, 500'000'000)}) {
    std::string json = fmt::format(R"({{"created_at":"{}"}})", text);
    qdrant::CollectionInfo info;
    ASSERT_TRUE(set_info(json, info));
    EXPECT_EQ(info.created_at().seconds(), seconds);
    EXPECT_EQ(info.created_at().nanos(), nanos);
  }
}

}  // namespace
}  // namespace quiver::service::rpc
