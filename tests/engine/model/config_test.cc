#include "engine/model/config.h"

#include <gtest/gtest.h>

#include <functional>
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(CollectionConfig, FieldsAreFoundByName) {
  CollectionConfig config;
  config.fields = mixed_fields();
  for (std::size_t i = 0; i < config.fields.size(); ++i) {
    EXPECT_EQ(config.field(config.fields[i].name).value(), i);
    EXPECT_EQ(config.find_field(config.fields[i].name), &config.fields[i]);
  }
  EXPECT_EQ(config.find_field("no"), nullptr);
  const auto unknown = config.field("no");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(unknown.error().message(), "vector field `no` does not exist");
}

TEST(CollectionConfig, ReadsBackAsWritten) {
  CollectionConfig config;
  config.fields = mixed_fields();
  config.shard_number = 3;
  config.optimizer.index_min_bytes = 7;
  config.optimizer.max_threads = 0;
  config.vector_indexes["half"].enabled = false;
  config.vector_indexes["bytes"].on_gpu = gpu::Placing::kNever;
  const auto read = parse_config(to_json(config));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(*read, config);
}

TEST(CollectionConfig, AShardOfALargerCollectionSaysWhichOne) {
  CollectionConfig config;
  EXPECT_EQ(to_json(config).find(R"("part")"), std::string::npos);
  config.part = PartOf{2, 3};
  const auto read = parse_config(to_json(config));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->part, config.part);
  EXPECT_FALSE(parse_config(R"({"part":{"number":2}})"));
}

TEST(CollectionConfig, VectorsOfPayloadsReadBackAsWritten) {
  CollectionConfig config;
  config.fields = {
      {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kIdf}};
  EXPECT_NE(to_json(config).find(R"("version":1,)"), std::string::npos);
  TextVectorField& field = config.text_vectors["words"];
  field.keys = {"title", "parts[].text"};
  field.model.params = {2, 0};
  field.model.mean_length = 100;
  field.model.analysis.tokenizer = payload::Tokenizer::kMultilingual;
  field.model.analysis.lowercase = false;
  field.model.analysis.min_token_len = 2;
  field.model.analysis.stemmer = payload::StemmerLanguage::kFrench;
  field.model.analysis.stopwords.custom = {"le"};
  const std::string json = to_json(config);
  EXPECT_NE(json.find(R"("version":4,)"), std::string::npos) << json;
  const auto read = parse_config(json);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(*read, config);
  for (const char* part : {R"("keys")", R"("mean_length")", R"("analysis")", R"("multilingual")"}) {
    std::string damaged = json;
    damaged[damaged.rfind(part) + 1] = 'x';
    const auto refused = parse_config(damaged);
    ASSERT_FALSE(refused) << part;
    EXPECT_EQ(refused.error().code(), Code::kDataLoss);
  }
  drop_field(config, "words");
  EXPECT_TRUE(config.text_vectors.empty());
}

TEST(CollectionConfig, ATimeOfCreationIsKeptAndOlderOnesHaveNone) {
  CollectionConfig config;
  config.fields = mixed_fields();
  const std::string older = to_json(config);
  EXPECT_EQ(older.find("created_at_ms"), std::string::npos);
  EXPECT_EQ(parse_config(older)->created_at_ms, std::nullopt);
  config.created_at_ms = 1'764'032'400'123;
  EXPECT_EQ(parse_config(to_json(config)).value(), config);
  for (const char* wrong : {R"("noon")", "null", "-1", "1.5", "253402300800000"}) {
    std::string json = older;
    json.insert(json.size() - 1, std::string(R"(,"created_at_ms":)") + wrong);
    const auto refused = parse_config(json);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), Code::kDataLoss);
  }
}

CollectionConfig config_with_text() {
  CollectionConfig config;
  config.fields = mixed_fields();
  auto& index = config.indexes.emplace_back();
  index.key = "title";
  index.kind = payload::IndexKind::kText;
  return config;
}

TEST(CollectionConfig, TheAnalysisOfTextsReadsBackAsWritten) {
  CollectionConfig config = config_with_text();
  EXPECT_EQ(parse_config(to_json(config)).value(), config);
  auto& text = config.indexes.front().text;
  text.tokenizer = payload::Tokenizer::kCode;
  text.ascii_folding = true;
  text.stemmer = payload::StemmerLanguage::kTurkish;
  text.stopwords = {{payload::StopwordLanguage::kArabic, payload::StopwordLanguage::kTurkish},
                    {"a \"b\"", "c"}};
  text.synonyms = {{"car", "automobile"}, {}, {"t\"v"}};
  EXPECT_EQ(parse_config(to_json(config)).value(), config);
}

/// Before analyzers existed, their settings were kept only as the client sent them.
TEST(CollectionConfig, OlderOnesTakeTheAnalysisFromTheClient) {
  const auto older = [](const std::string& settings) {
    CollectionConfig config = config_with_text();
    config.indexes.front().client_settings = settings;
    std::string json = to_json(config);
    const auto first = json.find(R"(,"analysis")");
    EXPECT_NE(first, std::string::npos);
    const auto last = json.find("}}", first);
    json.erase(first, last + 2 - first);
    return parse_config(json).value().indexes.front().text;
  };
  const auto all = older(
      R"({"type":"text","ascii_folding":true,"stemmer":{"type":"snowball","language":"dutch"},"stopwords":{"languages":["dutch"],"custom":["x"]}})");
  EXPECT_TRUE(all.ascii_folding);
  EXPECT_EQ(all.stemmer, payload::StemmerLanguage::kDutch);
  EXPECT_EQ(all.stopwords, (payload::Stopwords{{payload::StopwordLanguage::kDutch}, {"x"}}));
  EXPECT_EQ(older(R"({"type":"text","stopwords":"german"})").stopwords.languages,
            std::vector{payload::StopwordLanguage::kGerman});
  EXPECT_EQ(older(R"("text")"), payload::TextOptions());
  EXPECT_EQ(older(R"({"stemmer":{"type":"none"},"stopwords":[1]})"), payload::TextOptions());
  EXPECT_EQ(older("no JSON"), payload::TextOptions());
}

TEST(CollectionConfig, DamagedIsRefused) {
  CollectionConfig config;
  config.fields = mixed_fields();
  const std::string good = to_json(config);
  for (std::size_t n = 0; n < good.size(); n += 7) EXPECT_FALSE(parse_config(good.substr(0, n)));
}

CollectionConfig custom_config() {
  CollectionConfig config;
  config.fields = mixed_fields();
  config.shard_number = 2;
  config.sharding = ShardingMethod::kCustom;
  return config;
}

TEST(CollectionConfig, ShardKeysReadBackAsWritten) {
  auto config = custom_config();
  for (int round = 0; round < 2; ++round) {
    const auto read = parse_config(to_json(config));
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, config);
    ASSERT_TRUE(add_shard_key(config, {"7", {}}));
    ASSERT_TRUE(add_shard_key(config, {std::uint64_t{7}, 3}));
    EXPECT_EQ(shard_numbers(config), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
    if (round == 0) config.shard_keys.clear(), config.next_shard = 0;
  }
  const std::string good = to_json(config);
  for (std::size_t n = 0; n < good.size(); n += 3) EXPECT_FALSE(parse_config(good.substr(0, n)));
}

TEST(CollectionConfig, ShardNumbersAreNotUsedTwice) {
  auto config = custom_config();
  ASSERT_TRUE(add_shard_key(config, {"a", {}}));
  EXPECT_FALSE(add_shard_key(config, {"a", {}})) << "it is there";
  ASSERT_TRUE(remove_shard_key(config, "a"));
  EXPECT_FALSE(remove_shard_key(config, "a")) << "it is gone";
  ASSERT_TRUE(add_shard_key(config, {"b", 1}));
  EXPECT_EQ(shard_numbers(config), std::vector<std::uint32_t>{2});
  EXPECT_FALSE(add_shard_key(config, {"c", kMaxShardNumber}));
  EXPECT_TRUE(add_shard_key(config, {"c", kMaxShardNumber - 1}));
  CollectionConfig hashed;
  EXPECT_FALSE(add_shard_key(hashed, {"a", {}}));
  EXPECT_FALSE(remove_shard_key(hashed, "a"));
}

TEST(CollectionConfig, ContradictingShardKeysAreDamage) {
  auto config = custom_config();
  ASSERT_TRUE(add_shard_key(config, {"a", {}}));
  ASSERT_TRUE(add_shard_key(config, {"b", {}}));
  const auto is_refused = [](const CollectionConfig& wrong) {
    const auto read = parse_config(to_json(wrong));
    return !read && read.error().code() == Code::kDataLoss;
  };
  auto wrong = config;
  wrong.shard_keys[0].shards = {2};
  EXPECT_TRUE(is_refused(wrong)) << "a shard of two keys";
  wrong = config;
  wrong.shard_keys[0].key = "b";
  EXPECT_TRUE(is_refused(wrong)) << "a key twice";
  wrong = config;
  wrong.shard_keys[0].shards.clear();
  EXPECT_TRUE(is_refused(wrong)) << "a key without shards";
  wrong = config;
  wrong.next_shard = 3;
  EXPECT_TRUE(is_refused(wrong)) << "the next number is taken";
}

TEST(CollectionConfig, FieldsKeepTheirNumbers) {
  CollectionConfig config;
  config.fields = mixed_fields();
  const FieldSchema half = config.fields[1];
  config.vector_indexes["half"].enabled = false;
  drop_field(config, "half");
  EXPECT_EQ(config.find_field("half"), nullptr);
  EXPECT_FALSE(config.field(config.fields[1].name)) << "a dropped field has no name for clients";
  EXPECT_TRUE(config.vector_indexes.empty());
  EXPECT_EQ(config.field("bytes").value(), 2U);
  drop_field(config, "half");  // there is none
  drop_field(config, config.fields[1].name);
  ASSERT_TRUE(add_field(config, half));
  EXPECT_EQ(config.field("half").value(), 5U);
  ASSERT_TRUE(add_field(config, half)) << "the same field is there";
  EXPECT_EQ(config.fields.size(), 6U);
  const auto read = parse_config(to_json(config));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(*read, config);
  EXPECT_TRUE(is_dropped(read->fields[1]));
}

TEST(CollectionConfig, AFieldOfTheSameNameIsRefused) {
  CollectionConfig config;
  config.fields = mixed_fields();
  const CollectionConfig before = config;
  FieldSchema other = config.fields[1];
  ++other.dim;
  const auto larger = add_field(config, other);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(larger.error().message(),
            "vector `half` already exists with a different configuration");
  other.kind = FieldKind::kSparse;
  const auto sparse = add_field(config, other);
  ASSERT_FALSE(sparse);
  EXPECT_EQ(sparse.error().message(), "vector `half` already exists: it is a dense vector");
  EXPECT_EQ(config, before);
}

TEST(CollectionConfig, AnotherFollowsIfRowsFitIt) {
  CollectionConfig now;
  now.fields = mixed_fields();
  CollectionConfig next = now;
  EXPECT_TRUE(check_can_follow(now, next));
  FieldSchema added = now.fields[0];
  added.name = "added";
  ASSERT_TRUE(add_field(next, added));
  EXPECT_TRUE(check_can_follow(now, next));
  drop_field(next, now.fields[1].name);
  EXPECT_TRUE(check_can_follow(now, next)) << "a dropped field keeps its place";
  next.fields[0].modifier = SparseModifier::kIdf;
  EXPECT_TRUE(check_can_follow(now, next));

  const auto refused = [](const CollectionConfig& from, const CollectionConfig& to) {
    const auto checked = check_can_follow(from, to);
    return !checked && checked.error().code() == Code::kFailedPrecondition;
  };
  EXPECT_TRUE(refused(next, now)) << "fewer fields";
  CollectionConfig back = next;
  back.fields[1] = now.fields[1];
  EXPECT_TRUE(refused(next, back)) << "a dropped field is back";
  for (const auto& change : std::vector<std::function<void(FieldSchema&)>>{
           [](FieldSchema& field) { ++field.dim; }, [](FieldSchema& field) { field.name += "x"; },
           [](FieldSchema& field) { field.metric = Metric::kEuclid; },
           [](FieldSchema& field) { field.kind = FieldKind::kMulti; },
           [](FieldSchema& field) { field.dtype = DType::kE5m2; }}) {
    CollectionConfig other = now;
    change(other.fields[0]);
    EXPECT_TRUE(refused(now, other)) << "another schema";
  }
  CollectionConfig shards = now;
  ++shards.shard_number;
  EXPECT_TRUE(refused(now, shards));
}

TEST(CollectionConfig, TheNumberOfFieldsIsLimited) {
  CollectionConfig config;
  config.fields.resize(kMaxFieldNumber, mixed_fields()[1]);
  const auto refused = add_field(config, mixed_fields()[2]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace quiver::engine::testing
