// Decoders: what is accepted, and the exact status and text of what is not.
#include "service/json/decode/decode.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <string>

#include "service/json/element.h"
#include "service/json/encode/encode.h"
#include "tests/support/failing_allocation.h"

namespace quiver::service::json {
namespace {

using engine::DenseVector;
using engine::MultiVector;
using engine::SparseVector;

template <class T>
void expect_error(const Decoded<T>& decoded, int status, std::string_view text) {
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().status, status);
  EXPECT_EQ(decoded.error().text, text);
}

Decoded<engine::Query> query(std::string body) { return decode_query(body); }
Decoded<engine::Operation> upsert(std::string body) { return decode_upsert(body); }
Decoded<engine::CollectionConfig> collection(std::string body) {
  return decode_collection(body, {});
}
Decoded<std::optional<payload::Filter>> filter(std::string text) {
  std::string body = R"({"filter":)" + text + "}";
  auto decoded = decode_count(body);
  if (!decoded) return fail(std::move(decoded).error());
  return std::move(decoded->filter);
}

const engine::VectorValue& vector_of(const engine::Query& q) {
  return std::get<engine::VectorValue>(std::get<engine::Nearest>(q.kind).vector);
}
PointId id_of(const engine::Query& q) {
  return std::get<PointId>(std::get<engine::Nearest>(q.kind).vector);
}
const engine::Upsert& as_upsert(const Decoded<engine::Operation>& operation) {
  return std::get<engine::Upsert>(*operation);
}

TEST(DecodeBody, RefusesWhatIsNoJson) {
  for (const char* bad : {"", "{", "[", "{\"a\":}", "{} {}", "nul", "\"\xff\"", "{\"a\":1e999}",
                          "{\"a\":NaN}", "{\"a\":01}", "{\"a\":-}"}) {
    const auto decoded = query(bad);
    ASSERT_FALSE(decoded) << bad;
    EXPECT_EQ(decoded.error().status, 400) << bad;
    EXPECT_TRUE(decoded.error().text.starts_with("Format error in JSON body: ")) << bad;
  }
  EXPECT_EQ(query(std::string(100000, '[')).error().status, 400);
  expect_error(query("[]"), 400,
               "Format error in JSON body: invalid type: sequence, expected an object");
}

TEST(DecodeBody, ChecksQuantizationParameters) {
  EXPECT_TRUE(query(R"({"query":[1],"params":{"quantization":{"ignore":true,"rescore":null,)"
                    R"("oversampling":1.0}}})"));
  expect_error(query(R"({"query":[1],"params":{"quantization":{"oversampling":0.5}}})"), 422,
               "Validation error in JSON body: [internal.params.quantization.oversampling: value "
               "0.5 invalid, must be 1.0 or larger]");
  EXPECT_EQ(query(R"({"query":[1],"params":{"quantization":{"ignore":3}}})").error().status, 400);
  const auto quantized = query(
      R"({"query":[1],"params":{"quantization":{"ignore":true,"rescore":false,"oversampling":2.5}}})");
  ASSERT_TRUE(quantized) << quantized.error().text;
  EXPECT_TRUE(quantized->params.ignore_codes);
  EXPECT_EQ(quantized->params.oversampling, 2.5);
}

TEST(DecodeBody, ReadsIntegersBeyond64BitsAsDoubles) {
  std::string body =
      R"({"a":18446744073709551616,"b":-9223372036854775809,"c":[123456789012345678901234567890],)"
      R"("d":18446744073709551615,"e":-9223372036854775808,"f":"18446744073709551616\\\"3","g":1.5e3,)"
      R"("h":18446744073709551616.5})";
  EXPECT_EQ(
      to_json(*parse_body(body)),
      R"({"a":18446744073709551616.0,"b":-9223372036854775808.0,"c":[1.2345678901234568e+29],)"
      R"("d":18446744073709551615,"e":-9223372036854775808,"f":"18446744073709551616\\\"3",)"
      R"("g":1500.0,"h":18446744073709551616.0})");
}

TEST(DecodeQuery, Vectors) {
  EXPECT_EQ(std::get<DenseVector>(vector_of(*query(R"({"query":[1,2.5,-3e-2]})"))),
            (DenseVector{1, 2.5F, -0.03F}));
  EXPECT_EQ(std::get<MultiVector>(vector_of(*query(R"({"query":[[1,2],[3,4]]})"))),
            (MultiVector{2, 2, {1, 2, 3, 4}}));
  const SparseVector sparse{{3, 7}, {1.5F, 0.5F}};
  EXPECT_EQ(std::get<SparseVector>(
                vector_of(*query(R"({"query":{"indices":[7,3],"values":[0.5,1.5]}})"))),
            sparse);
  EXPECT_EQ(std::get<SparseVector>(
                vector_of(*query(R"({"query":{"nearest":{"indices":[7,3],"values":[0.5,1.5]}}})"))),
            sparse);
  EXPECT_EQ(id_of(*query(R"({"query":18446744073709551615})")),
            PointId::number(18446744073709551615ULL));
  EXPECT_EQ(
      id_of(*query(R"({"query":{"nearest":"5C56C79369F34FBF87E6C4BF54C28C26"}})")).to_string(),
      "5c56c793-69f3-4fbf-87e6-c4bf54c28c26");
}

TEST(DecodeQuery, BadVectors) {
  expect_error(
      query(R"({"query":[1,"x"]})"), 400,
      "Format error in JSON body: internal.query[1]: invalid type: string \"x\", expected a "
      "32-bit float");
  expect_error(
      query(R"({"query":[1e300]})"), 400,
      "Format error in JSON body: internal.query[0]: invalid type: floating point `1e+300`, "
      "expected a finite 32-bit float");
  EXPECT_TRUE(query(R"({"query":[]})"));  // the field says how many numbers are wanted
  expect_error(
      query(R"({"query":[[1,2],[]]})"), 422,
      "Validation error in JSON body: [internal.query.data: all vectors must be non-empty]");
  expect_error(
      query(R"({"query":[[1,2],[1,2,3]]})"), 422,
      "Validation error in JSON body: [internal.query.data: all vectors must have the same "
      "dimension, found vector with dimension 3]");
  expect_error(query(R"({"query":{"indices":[1,1],"values":[1,2]}})"), 422,
               "Validation error in JSON body: [internal.query.indices: Validation error: must be "
               "unique [{}]]");
  expect_error(
      query(R"({"query":{"indices":[1],"values":[1,2]}})"), 422,
      "Validation error in JSON body: [internal.query.values: Validation error: must be the "
      "same length as indices [{}]]");
  expect_error(query(R"({"query":{"text":"a","model":"b"}})"), 400,
               "Wrong input: internal.query: inference with model `b` is not available: this "
               "server makes vectors of texts with `qdrant/bm25`, send vectors of anything else");
}

engine::SparseVector sparse_of(const std::string& document) {
  const auto decoded = query(R"({"query":)" + document + "}");
  EXPECT_TRUE(decoded) << document;
  const auto& vector = std::get<engine::Nearest>(decoded->kind).vector;
  return std::get<engine::SparseVector>(std::get<engine::VectorValue>(vector));
}

TEST(DecodeQuery, TextsBecomeSparseVectors) {
  const auto vector = sparse_of(R"({"text":"The cats, the cat","model":"Qdrant/BM25"})");
  EXPECT_EQ(vector.indices.size(), 1U);  // "cat": the rest are stop words
  EXPECT_EQ(vector.values, std::vector<float>{1});
  const auto plain = sparse_of(
      R"({"nearest":{"text":"The cats","model":"qdrant/bm25","options":{"language":"none"}}})");
  EXPECT_EQ(plain.indices.size(), 2U);
  const auto point = upsert(
      R"({"points":[{"id":1,"vector":{"s":{"text":"cats cats dog","model":"qdrant/bm25",
          "options":{"k":1.0,"b":0.5,"avg_len":3}}}}]})");
  ASSERT_TRUE(point);
  for (const char* bad :
       {R"({"text":"a","model":"qdrant/bm25","options":{"k":-1}})",
        R"({"text":"a","model":"qdrant/bm25","options":{"b":1.5}})",
        R"({"text":"a","model":"qdrant/bm25","options":{"avg_len":0}})",
        R"({"text":"a","model":"qdrant/bm25","options":{"language":"klingon"}})",
        R"({"text":5,"model":"qdrant/bm25"})", R"({"image":"a","model":"qdrant/bm25"})"}) {
    EXPECT_FALSE(query(R"({"query":)" + std::string(bad) + "}")) << bad;
  }
}

TEST(DecodeQuery, Texts) {
  const auto match_of = [](const std::string& text) {
    const auto decoded = query(R"({"query":{"text":)" + text + "}}");
    EXPECT_TRUE(decoded) << text;
    return std::get<engine::TextMatch>(decoded->kind);
  };
  EXPECT_EQ(match_of(R"("a b")").text, "a b");
  EXPECT_EQ(match_of(R"({"query":"a"})").params, payload::Bm25Params{});
  const auto match = match_of(R"({"query":"a","scoring":{"bm25":{"k":2,"b":0}}})");
  EXPECT_EQ(match.params, (payload::Bm25Params{2, 0}));
  expect_error(query(R"({"query":{"text":{"query":"a","scoring":{"bm25":{"k":-1}}}}})"), 422,
               "Validation error in JSON body: [internal.query.text.scoring.bm25.k: value -1 "
               "invalid, must be 0 to 1000000]");
  expect_error(query(R"({"query":{"text":{"query":"a","scoring":{"tfidf":{}}}}})"), 400,
               "Format error in JSON body: internal.query.text.scoring: missing field `bm25`");
  const auto rich = match_of(
      R"({"query":"a","fields":{"title":2,"body":1},"fuzzy":1,"prefix":true,"max_expansions":9})");
  EXPECT_EQ(rich.keys, (std::vector<engine::TextKey>{{"title", 2}, {"body", 1}}));
  EXPECT_EQ(rich.expansion, (payload::Expansion{1, true, 9}));
  const auto ruled =
      match_of(R"({"query":"a","required":["b c"],"excluded":["d"],"minimum_should_match":"75%"})");
  EXPECT_EQ(ruled.rules, (payload::WordRules{{"b c"}, {"d"}, {0, 75}}));
  EXPECT_EQ(match_of(R"({"query":"a","minimum_should_match":2})").rules.minimum.count, 2U);
  for (const char* bad :
       {R"({"query":"a","fields":{}})", R"({"query":"a","fields":{"t":0}})",
        R"({"query":"a","fuzzy":3})", R"({"query":"a","prefix":1})",
        R"({"query":"a","max_expansions":1001})", R"({"query":"a","required":"b"})",
        R"({"query":"a","excluded":[1]})", R"({"query":"a","minimum_should_match":-1})",
        R"({"query":"a","minimum_should_match":"101%"})",
        R"({"query":"a","minimum_should_match":"50"})",
        R"({"query":"a","minimum_should_match":"%"})"}) {
    EXPECT_FALSE(query(R"({"query":{"text":)" + std::string(bad) + "}}")) << bad;
  }
  expect_error(query(R"({"query":{"text":{"query":"a","fields":["t"]}},"using":"t"})"), 400,
               "Bad request: A text query has either `fields` or `using`, and `using` is `t`");
  expect_error(
      query(R"({"query":{"text":5}})"), 400,
      "Format error in JSON body: internal.query.text: invalid type: integer `5`, expected "
      "an object");
}

TEST(DecodeQuery, Ids) {
  constexpr std::string_view kHelp =
      " is not a valid point ID, valid values are either an unsigned integer or a UUID";
  for (const char* bad : {"-1", "\"x\""}) {
    expect_error(query(std::string(R"({"query":)") + bad + "}"), 400,
                 "Format error in JSON body: internal.query: value " + std::string(bad) +
                     std::string(kHelp));
  }
  expect_error(query(R"({"query":1.5})"), 400,
               "Format error in JSON body: internal.query: value 1.5" + std::string(kHelp));
}

TEST(DecodeQuery, Defaults) {
  const auto decoded = query("{}");
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(std::holds_alternative<engine::NoQuery>(decoded->kind));
  EXPECT_EQ(decoded->limit, 10U);
  EXPECT_EQ(decoded->offset, 0U);
  EXPECT_TRUE(decoded->with_payload.is_none());
  EXPECT_TRUE(decoded->with_vector.none());
  EXPECT_FALSE(decoded->filter);
}

TEST(DecodeQuery, NullsAreAbsent) {
  const auto decoded = query(
      R"({"prefetch":null,"query":null,"using":null,"filter":null,"params":null,"limit":null,
          "score_threshold":null,"offset":null,"with_vector":null,"with_payload":null,
          "lookup_from":null,"shard_key":null,"unknown":1})");
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(decoded->limit, 10U);
}

TEST(DecodeQuery, Everything) {
  const auto decoded = query(
      R"({"prefetch":[{"query":[1],"using":"d","limit":7,"score_threshold":0.5},
                      {"query":{"indices":[1],"values":[1]},"prefetch":{"query":[2]}}],
          "query":{"rrf":{"k":60,"weights":[1,2.5]}},"limit":3,"offset":4,
          "with_payload":["a","b.c"],"with_vectors":["x"],
          "params":{"exact":true,"hnsw_ef":99,"device":"cpu","indexed_only":true,"quantization":{"ignore":true},
                    "seismic":{"heap_factor":0.5,"cut":8,"on":true,"mode":"a"}}})");
  ASSERT_TRUE(decoded) << decoded.error().text;
  ASSERT_EQ(decoded->prefetch.size(), 2U);
  EXPECT_EQ(decoded->prefetch[0].using_field, "d");
  EXPECT_EQ(decoded->prefetch[0].limit, 7U);
  EXPECT_EQ(decoded->prefetch[0].score_threshold, 0.5F);
  EXPECT_EQ(decoded->prefetch[1].prefetch.size(), 1U);
  EXPECT_EQ(std::get<engine::Rrf>(decoded->kind).k, 60U);
  EXPECT_EQ(std::get<engine::Rrf>(decoded->kind).weights, (std::vector<float>{1, 2.5F}));
  EXPECT_EQ(decoded->offset, 4U);
  EXPECT_EQ(decoded->with_payload.kind(), payload::Selector::Kind::kInclude);
  EXPECT_EQ(decoded->with_payload.paths().size(), 2U);
  EXPECT_EQ(decoded->with_vector.names, std::vector<std::string>{"x"});
  EXPECT_TRUE(decoded->params.exact);
  EXPECT_TRUE(decoded->params.indexed_only);
  EXPECT_EQ(decoded->params.device, engine::DeviceChoice::kCpu);
  EXPECT_EQ(decoded->params.hnsw_ef, 99U);
  ASSERT_EQ(decoded->params.index.size(), 1U);
  EXPECT_EQ(quiver::to_string(decoded->params.index.at("seismic")),
            R"(cut=8 heap_factor=0.5 mode="a" on=true)");
}

TEST(DecodeQuery, Kinds) {
  const auto prefetched = [](std::string_view kind) {
    return query(R"({"prefetch":{"query":[1]},"query":)" + std::string(kind) + "}");
  };
  EXPECT_TRUE(std::holds_alternative<engine::Rrf>(prefetched(R"({"fusion":"rrf"})")->kind));
  EXPECT_TRUE(std::holds_alternative<engine::Dbsf>(prefetched(R"({"fusion":"dbsf"})")->kind));
  EXPECT_TRUE(
      std::holds_alternative<engine::Sample>(query(R"({"query":{"sample":"random"}})")->kind));
  const auto ordered =
      query(R"({"query":{"order_by":{"key":"t","direction":"desc","start_from":"2024-01-01"}}})");
  ASSERT_TRUE(ordered) << ordered.error().text;
  const auto& order = std::get<engine::OrderBy>(ordered->kind);
  EXPECT_EQ(order.key, "t");
  EXPECT_TRUE(order.descending);
  EXPECT_EQ(std::get<std::int64_t>(*order.start_from), 1704067200000000);
  EXPECT_TRUE(std::holds_alternative<engine::Formula>(prefetched(R"({"formula":"$score"})")->kind));
}

TEST(DecodePoints, ManyTokensTakeTimeInProportion) {
  constexpr std::size_t kTokens = 500'000;  // minutes, if each row moved those before it
  std::string body = R"({"points":[{"id":1,"vector":[)";
  for (std::size_t i = 0; i < kTokens; ++i) body += i == 0 ? "[0,1]" : ",[0,1]";
  body += "]}]}";
  const auto decoded = decode_upsert(body);
  ASSERT_TRUE(decoded) << decoded.error().text;
  const auto& points = std::get<engine::Upsert>(*decoded).points;
  const auto& tokens = std::get<engine::MultiVector>(points[0].vectors[0].value);
  EXPECT_EQ(tokens.n_tokens, kTokens);
  EXPECT_EQ(tokens.values.size(), 2 * kTokens);
}

TEST(DecodeQuery, MaximalMarginalRelevance) {
  const auto mmr = [](std::string_view members) {
    const auto decoded = query(R"({"query":{"nearest":[1],"mmr":)" + std::string(members) + "}}");
    return std::get<engine::Nearest>(decoded->kind).mmr;
  };
  EXPECT_FALSE(mmr("null"));
  EXPECT_EQ(mmr("{}")->diversity, 0.5F);
  EXPECT_FALSE(mmr("{}")->candidates_limit);
  EXPECT_EQ(mmr(R"({"diversity":0.25,"candidates_limit":16384})")->diversity, 0.25F);
  EXPECT_EQ(mmr(R"({"diversity":null,"candidates_limit":100})")->candidates_limit, 100U);
  expect_error(
      query(R"({"query":{"nearest":[1],"mmr":{"diversity":1.5}}})"), 422,
      "Validation error in JSON body: [internal.query.mmr.diversity: value 1.5 invalid, must be "
      "from 0.0 to 1.0]");
  expect_error(
      query(R"({"query":{"nearest":[1],"mmr":{"candidates_limit":16385}}})"), 422,
      "Validation error in JSON body: [internal.query.mmr.candidates_limit: value 16385 invalid, "
      "must be 16384 or smaller]");
  EXPECT_FALSE(query(R"({"query":{"nearest":[1],"mmr":7}})"));
  EXPECT_FALSE(query(R"({"query":{"nearest":[1],"mmr":{"diversity":"much"}}})"));
  EXPECT_FALSE(query(R"({"query":{"nearest":[1],"mmr":{"candidates_limit":-1}}})"));
}

TEST(DecodeQuery, Combinations) {
  expect_error(query(R"({"prefetch":{"query":[1]}})"), 400,
               "Bad request: A query is needed to merge the prefetches. Can't have prefetches "
               "without defining a query.");
  expect_error(query(R"({"score_threshold":1})"), 400,
               "Bad request: A query is needed to use the score_threshold. Can't have "
               "score_threshold without defining a query.");
  expect_error(query(R"({"query":{"order_by":"a"},"score_threshold":1})"), 400,
               "Bad request: Can't use score_threshold with an order_by query.");
  expect_error(query(R"({"query":{"fusion":"rrf"}})"), 400,
               "Bad request: cannot apply Fusion without prefetches");
  expect_error(query(R"({"prefetch":{"query":[1]},"query":{"rrf":{"weights":[1,2]}}})"), 400,
               "Bad request: RRF weights must be one per prefetch: got 2 for 1 prefetches");
}

TEST(DecodeQuery, LinearFusion) {
  const auto linear = [](std::string_view members) {
    return query(R"({"prefetch":[{"query":[1]},{"query":[2]}],"query":{"linear":)" +
                 std::string(members) + "}}");
  };
  const auto plain = std::get<engine::Linear>(linear("{}")->kind);
  EXPECT_TRUE(plain.weights.empty());
  EXPECT_EQ(plain.normalization, engine::Normalization::kMinMax);
  EXPECT_EQ(plain.missing, engine::MissingScore::kLowest);
  EXPECT_FALSE(plain.mmr);
  const auto full = std::get<engine::Linear>(
      linear(R"({"weights":[0.5,-2],"normalize":"zscore","missing":"zero"})")->kind);
  EXPECT_EQ(full.weights, (std::vector<float>{0.5F, -2}));
  EXPECT_EQ(full.normalization, engine::Normalization::kZScore);
  EXPECT_EQ(full.missing, engine::MissingScore::kZero);
  expect_error(linear(R"({"weights":[1]})"), 400,
               "Bad request: linear weights must be one per prefetch: got 1 for 2 prefetches");
  expect_error(linear(R"({"normalize":"l2"})"), 400,
               "Format error in JSON body: internal.query.linear.normalize: unknown variant `l2`, "
               "expected one of `minmax`, `zscore`, `quantile`, `none`");
  expect_error(linear(R"({"missing":"mean"})"), 400,
               "Format error in JSON body: internal.query.linear.missing: unknown variant `mean`, "
               "expected `lowest` or `zero`");
  EXPECT_FALSE(linear(R"({"weight":[1,2]})"));
  EXPECT_FALSE(linear(R"({"weights":[1,1e39]})"));
  EXPECT_FALSE(linear(R"({"weights":[1,"2"]})"));
  EXPECT_FALSE(linear("[1,2]"));
  expect_error(query(R"({"query":{"linear":{}}})"), 400,
               "Bad request: cannot apply Fusion without prefetches");
}

TEST(DecodeQuery, MmrOfFusions) {
  const auto mmr = [](std::string_view kind) {
    const auto decoded = query(R"({"prefetch":{"query":[1]},"query":{)" + std::string(kind) +
                               R"(,"mmr":{"diversity":0.25,"candidates_limit":9,"using":"d"}}})");
    return *engine::mmr_of(decoded->kind);
  };
  for (const auto* kind :
       {R"("fusion":"rrf")", R"("fusion":"dbsf")", R"("rrf":{})", R"("linear":{})"}) {
    EXPECT_EQ(mmr(kind).diversity, 0.25F);
    EXPECT_EQ(mmr(kind).candidates_limit, 9U);
    EXPECT_EQ(mmr(kind).using_field, "d");
  }
  EXPECT_FALSE(query(R"({"prefetch":{"query":[1]},"query":{"linear":{},"mmr":{"diversity":2}}})"));
  EXPECT_FALSE(query(R"({"prefetch":{"query":[1]},"query":{"linear":{},"mmr":{"using":2}}})"));
}

TEST(DecodeFusionLearning, MembersAndLimits) {
  const std::string two = R"("prefetch":[{"query":[1]},{"query":[2]}])";
  const auto learning = [](const std::string& judged, std::size_t n, std::string_view rest = "") {
    std::string body = R"({"judged":[)";
    for (std::size_t i = 0; i < n; ++i) body += (i == 0 ? "" : ",") + judged;
    body += "]" + std::string(rest) + "}";
    return decode_fusion_learning(body);
  };
  const auto good = learning("{" + two + R"(,"relevant":[3,1,3]})", 10,
                             R"(,"normalize":"quantile","missing":"zero")");
  ASSERT_TRUE(good) << good.error().text;
  EXPECT_EQ(good->judged.size(), 10U);
  EXPECT_EQ(good->judged[9].query.prefetch.size(), 2U);
  EXPECT_EQ(good->judged[0].relevant,
            (std::vector<PointId>{PointId::number(1), PointId::number(3)}));
  EXPECT_EQ(good->normalization, engine::Normalization::kQuantile);
  EXPECT_EQ(good->missing, engine::MissingScore::kZero);
  expect_error(learning("{" + two + R"(,"relevant":[1]})", 9), 422,
               "Validation error in JSON body: [judged: value of 9 queries invalid, must be 10 to "
               "10000]");
  expect_error(learning("{" + two + R"(,"relevant":[]})", 10), 422,
               "Validation error in JSON body: [judged[0].relevant: value [] invalid, must be at "
               "least one id]");
  expect_error(learning(R"({"prefetch":{"query":[1]},"relevant":[1]})", 10), 422,
               "Validation error in JSON body: [judged[0].prefetch: value of 1 prefetches invalid, "
               "must be 2 to 16]");
  EXPECT_FALSE(learning("{" + two + "}", 10));
  EXPECT_FALSE(learning("{" + two + R"(,"relevant":[1],"limit":3})", 10));
  EXPECT_FALSE(learning("{" + two + R"(,"relevant":[1]})", 10, R"(,"normalize":"l2")"));
  const std::string deep =
      R"({"prefetch":[{"query":[1],"limit":400000},{"query":[2]}],"relevant":[1]})";
  EXPECT_FALSE(learning(deep, 10));
}

TEST(DecodeQuery, Ranges) {
  expect_error(
      query(R"({"query":[1],"limit":0})"), 422,
      "Validation error in JSON body: [internal.limit: value 0 invalid, must be 1 or larger]");
  expect_error(
      query(R"({"query":[1],"offset":-1})"), 400,
      "Format error in JSON body: internal.offset: invalid type: integer `-1`, expected an "
      "unsigned integer");
  expect_error(
      query(R"({"prefetch":[{"query":[1],"limit":0}],"query":[1]})"), 422,
      "Validation error in JSON body: [internal.prefetch[0].limit: value 0 invalid, must be "
      "1 or larger]");
}

TEST(DecodeQuery, EffortIsAtLeastOne) {
  expect_error(query(R"({"query":[1],"params":{"hnsw_ef":0}})"), 422,
               "Validation error in JSON body: [internal.params.hnsw_ef: value 0 invalid, must be "
               "1 or larger]");
  EXPECT_EQ(query(R"({"query":[1],"params":{"hnsw_ef":1}})")->params.hnsw_ef, 1U);
  EXPECT_EQ(query(R"({"query":[1],"params":{"hnsw_ef":null}})")->params.hnsw_ef, std::nullopt);
}

TEST(DecodeQuery, ParametersOfIndexesAreObjectsByKindAndByType) {
  const auto wanted = query(R"({"query":[1],"params":{"ivf":3}})").error();
  EXPECT_EQ(wanted.status, 400);
  for (const char* name : {"flat", "seismic", "multi", "dense", "sparse"}) {
    const auto found =
        query(R"({"query":[1],"params":{")" + std::string(name) + R"(":3}})").error();
    EXPECT_EQ(found.status, wanted.status) << name;
    std::string text = wanted.text;
    text.replace(text.find("ivf"), 3, name);
    EXPECT_EQ(found.text, text);
    EXPECT_TRUE(query(R"({"query":[1],"params":{")" + std::string(name) + R"(":null}})"));
  }
  EXPECT_TRUE(query(R"({"query":[1],"params":{"something else":3}})"));
}

TEST(DecodeQuery, IdfIsThatOfTheWholeCollectionOrOfACorpus) {
  EXPECT_EQ(query(R"({"query":[1],"params":{"idf":"global"}})")->params.idf_corpus, nullptr);
  EXPECT_EQ(query(R"({"query":[1],"params":{"idf":null}})")->params.idf_corpus, nullptr);
  const auto corpus = query(R"({"query":[1],"params":{"idf":{"corpus":{"must":{"has_id":[1]}}}}})");
  ASSERT_TRUE(corpus) << corpus.error().text;
  EXPECT_EQ(corpus->params.idf_corpus->must.size(), 1U);
  expect_error(query(R"({"query":[1],"params":{"idf":"local"}})"), 400,
               "Format error in JSON body: internal.params.idf: unknown variant `local`, expected "
               "`global`");
  expect_error(query(R"({"query":[1],"params":{"idf":{}}})"), 400,
               "Format error in JSON body: internal.params.idf: missing field `corpus`");
}

TEST(DecodeSearch, OlderForm) {
  std::string named = R"({"vector":{"name":"v","vector":[1,2]},"top":3,"with_vectors":true})";
  const auto decoded = decode_search(named);
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(decoded->using_field, "v");
  EXPECT_EQ(decoded->limit, 3U);
  EXPECT_TRUE(decoded->with_vector.all);
  std::string sparse = R"({"vector":{"name":"s","vector":{"indices":[1],"values":[2]}},"limit":1})";
  EXPECT_TRUE(decode_search(sparse));
  std::string no_limit = R"({"vector":[1]})";
  expect_error(decode_search(no_limit), 400, "Format error in JSON body: missing field `limit`");
  std::string zero = R"({"vector":[1],"limit":0})";
  expect_error(decode_search(zero), 422,
               "Validation error in JSON body: [limit: value 0 invalid, must be 1 or larger]");
  std::string batch = R"({"searches":[{"vector":[1],"limit":2},{"limit":2}]})";
  expect_error(decode_search_batch(batch), 400,
               "Format error in JSON body: searches[1]: missing field `vector`");
  batch = R"({"searches":[{"query":1},{"query":{"recommend":{}}}]})";
  expect_error(decode_query_batch(batch), 422,
               "Validation error in JSON body: [searches[1].internal.query.recommend: At least one "
               "positive or negative vector/id must be provided]");
  batch = R"({"searches":[{"query":{"fusion":"rrf"}}]})";
  expect_error(decode_query_batch(batch), 400,
               "Bad request: cannot apply Fusion without prefetches (in searches[0])");
}

TEST(DecodeUpsert, Points) {
  const auto decoded = upsert(
      R"({"points":[{"id":1,"vector":[1,2],"payload":{"b":1,"a":[1.0,null,"é\n"],"b":2}},
                    {"id":2,"vector":{}},
                    {"id":3,"vectors":{"d":[1],"m":[[1],[2]],"s":{"indices":[],"values":[]}},"payload":null}],
          "update_mode":"insert_only","update_filter":{"must":[]}})");
  ASSERT_TRUE(decoded) << decoded.error().text;
  const auto& points = as_upsert(decoded).points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].payload, R"({"a":[1.0,null,"é\n"],"b":2})");
  EXPECT_EQ(points[0].vectors.front().name, "");
  EXPECT_TRUE(points[1].vectors.empty());
  EXPECT_EQ(points[2].vectors.size(), 3U);
  EXPECT_EQ(points[2].payload, "");
  EXPECT_EQ(as_upsert(decoded).mode, engine::UpsertMode::kInsertOnly);
  EXPECT_TRUE(as_upsert(decoded).update_filter->empty());
}

TEST(DecodeUpsert, Batch) {
  const auto decoded = upsert(
      R"({"batch":{"ids":[1,2],"vectors":{"a":[[1],[2]],"b":[[[1],[2]],[[3]]]},"payloads":[{"x":1},null]}})");
  ASSERT_TRUE(decoded) << decoded.error().text;
  const auto& points = as_upsert(decoded).points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(std::get<DenseVector>(points[1].vectors[0].value), DenseVector{2});
  EXPECT_EQ(std::get<MultiVector>(points[0].vectors[1].value).n_tokens, 2U);
  EXPECT_EQ(points[0].payload, R"({"x":1})");
  expect_error(
      upsert(R"({"batch":{"ids":[1],"vectors":[[1],[2]]}})"), 422,
      "Validation error in JSON body: [batch: number of ids and vectors must be equal (1 != "
      "2)]");
  expect_error(upsert(R"({"batch":{"ids":[1],"vectors":[[1]],"payloads":[]}})"), 422,
               "Validation error in JSON body: [batch: number of ids and payloads must be equal (1 "
               "!= 0)]");
}

TEST(DecodeUpsert, Errors) {
  expect_error(upsert("{}"), 400, "Format error in JSON body: missing field `points`");
  expect_error(upsert(R"({"points":[{"vector":[1]}]})"), 400,
               "Format error in JSON body: points[0]: missing field `id`");
  expect_error(upsert(R"({"points":[{"id":1}]})"), 400,
               "Format error in JSON body: points[0]: missing field `vector`");
  expect_error(upsert(R"({"points":[{"id":1,"vector":{"m":[[1],[]]}}]})"), 422,
               "Validation error in JSON body: [points[0].vector.?.data: all vectors must be "
               "non-empty]");
  expect_error(upsert(R"({"points":[{"id":1,"vector":{"s":{"indices":[1,1],"values":[1,2]}}}]})"),
               422,
               "Validation error in JSON body: [points[0].vector.?.indices: Validation error: must "
               "be unique [{}]]");
  expect_error(upsert(R"({"points":[{"id":1,"vector":[1],"payload":[]}]})"), 400,
               "Format error in JSON body: points[0].payload: invalid type: sequence, expected an "
               "object");
  expect_error(upsert(R"({"points":[],"update_mode":"x"})"), 400,
               "Format error in JSON body: update_mode: unknown variant `x`, expected `upsert`, "
               "`insert_only` or `update_only`");
}

TEST(DecodeUpsert, VectorsAreNotEmpty) {
  const auto empty = [](const std::string& path) {
    return "Validation error in JSON body: [" + path + ".vector: dense vector must not be empty]";
  };
  expect_error(upsert(R"({"points":[{"id":1,"vector":[]}]})"), 422, empty("points[0].vector"));
  expect_error(upsert(R"({"points":[{"id":1,"vector":{"a":[]}}]})"), 422,
               empty("points[0].vector.?"));
  expect_error(upsert(R"({"batch":{"ids":[1,2],"vectors":[[1],[]]}})"), 422,
               empty("batch.vectors[1]"));
  expect_error(upsert(R"({"batch":{"ids":[1],"vectors":{"a":[[]]}}})"), 422,
               empty("batch.vectors.a[0]"));
  std::string update = R"({"points":[{"id":1,"vector":[]}]})";
  expect_error(decode_update_vectors(update), 422, empty("points[0].vector"));
}

TEST(DecodeOperations, AllKinds) {
  std::string body = R"({"operations":[
      {"upsert":{"points":[]}},{"delete":{"points":[1]}},{"delete":{"filter":{}}},
      {"set_payload":{"payload":{"a":1},"points":[1],"key":"x.y"}},
      {"overwrite_payload":{"payload":{},"filter":{"must":{"has_id":[1]}}}},
      {"delete_payload":{"keys":["a","b[0]"],"points":[1]}},{"clear_payload":{"points":[1]}},
      {"update_vectors":{"points":[{"id":1,"vector":[1]}]}},
      {"delete_vectors":{"vector":["v"],"points":[1]}}]})";
  const auto decoded = decode_operations(body);
  ASSERT_TRUE(decoded) << decoded.error().text;
  ASSERT_EQ(decoded->size(), 9U);
  EXPECT_EQ(std::get<engine::SetPayload>((*decoded)[3]).key, "x.y");
  EXPECT_EQ(std::get<engine::DeletePayload>((*decoded)[5]).keys.size(), 2U);
  EXPECT_EQ((*decoded)[8].index(), 7U);
  std::string unknown = R"({"operations":[{"explode":{}}]})";
  EXPECT_EQ(decode_operations(unknown).error().status, 400);
}

TEST(DecodeSelectors, AreStrict) {
  std::string misspelt = R"({"filtr":{"must":[]}})";
  expect_error(decode_delete_points(misspelt), 400,
               "Format error in JSON body: unknown field `filtr`, expected one of `points`, "
               "`filter`, `shard_key`");
  std::string nothing = "{}";
  EXPECT_EQ(decode_delete_points(nothing).error().status, 400);
  std::string unselected = R"({"payload":{}})";
  expect_error(decode_set_payload(unselected), 422,
               "Validation error in JSON body: [filter: Either list of point ids or filter must be "
               "provided]");
  std::string no_vectors = R"({"points":[{"id":1,"vector":{}}]})";
  expect_error(
      decode_update_vectors(no_vectors), 422,
      "Validation error in JSON body: [points[0].vector: must specify vectors to update for "
      "point]");
}

TEST(DecodeFilter, Conditions) {
  const auto decoded = filter(R"({
    "must":[{"key":"a","match":{"value":"x"}},{"key":"a","match":{"any":[1,2]}},
            {"key":"a","match":{"except":["p"]}},{"key":"a","match":{"text":"t"}},
            {"key":"a","match":{"text_any":"t"}},{"key":"a","match":{"phrase":"t"}},
            {"key":"a","match":{"prefix":"t"}},
            {"key":"a","range":{"gt":1,"gte":null,"lt":2.5,"lte":18446744073709551615}},
            {"key":"a","range":{"gte":"2024-01-01T00:00:00Z"}},
            {"key":"a","geo_bounding_box":{"top_left":{"lon":1,"lat":2},"bottom_right":{"lon":2,"lat":1}}},
            {"key":"a","geo_radius":{"center":{"lon":1,"lat":2},"radius":10}},
            {"key":"a","geo_polygon":{"exterior":{"points":[{"lon":0,"lat":0},{"lon":1,"lat":0},{"lon":1,"lat":1},{"lon":0,"lat":0}]}}},
            {"key":"a","values_count":{"gte":2}},{"key":"a","is_empty":true},{"key":"a","is_null":false}],
    "should":{"is_empty":{"key":"x"}},
    "must_not":[{"has_id":[1,"5c56c793-69f3-4fbf-87e6-c4bf54c28c26"]},{"has_vector":""},
                {"nested":{"key":"n","filter":{"must":{"key":"a","match":{"value":true}}}}},
                {"should":[]},{"key":"a","match":{"value":1},"range":null}],
    "min_should":{"conditions":[{"is_null":{"key":"x"}}],"min_count":1}})");
  ASSERT_TRUE(decoded) << decoded.error().text;
  const auto& f = **decoded;
  ASSERT_EQ(f.must.size(), 15U);
  const auto test = [&](std::size_t i) {
    return std::get<payload::FieldCondition>(f.must[i]).condition.index();
  };
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(test(i), i) << i;
  EXPECT_EQ(f.should.size(), 1U);
  ASSERT_EQ(f.must_not.size(), 5U);
  EXPECT_TRUE(std::holds_alternative<payload::HasId>(f.must_not[0]));
  EXPECT_TRUE(std::holds_alternative<payload::HasVector>(f.must_not[1]));
  EXPECT_TRUE(std::holds_alternative<payload::Nested>(f.must_not[2]));
  EXPECT_EQ(f.min_should->conditions.size(), 1U);
}

TEST(DecodeFilter, SeveralTestsOfOneKeyAreAlternatives) {
  const auto decoded = filter(R"({"must":{"key":"a","match":{"value":1},"is_null":true}})");
  ASSERT_TRUE(decoded) << decoded.error().text;
  const auto& inner = *std::get<std::shared_ptr<const payload::Filter>>((**decoded).must[0]);
  EXPECT_EQ(inner.should.size(), 2U);
}

TEST(DecodeFilter, IsStrict) {
  expect_error(
      filter(R"({"must":[{"key":"x"}]})"), 422,
      "Validation error in JSON body: [filter.must[0]: At least one field condition must be "
      "specified: the one on `x` has no test, expected one of `match`, `range`, "
      "`geo_bounding_box`, `geo_radius`, `geo_polygon`, `values_count`, `is_empty`, `is_null`]");
  expect_error(
      filter(R"({"musst":[]})"), 400,
      "Format error in JSON body: filter: unknown field `musst`, expected one of `should`, "
      "`min_should`, `must`, `must_not`");
  expect_error(
      filter(R"({"must":[{"key":"x","match":{"value":1.5}}]})"), 400,
      "Format error in JSON body: filter.must[0].match.value: invalid type: floating point "
      "`1.5`, expected a string, a 64-bit integer or a boolean");
  for (const char* bad :
       {R"({"must":1})", R"({"must":[{"key":"x","match":{}}]})",
        R"({"must":[{"key":"x","match":{"any":["a",1]}}]})",
        R"({"must":[{"key":"x","match":{"any":[true]}}]})",
        R"({"must":[{"key":"x","range":{"gt":"no date"}}]})",
        R"({"must":[{"key":"x","range":{"gr":1}}]})",
        R"({"must":[{"key":"x","values_count":{"gt":-1}}]})",
        R"({"must":[{"key":"x","geo_radius":{"center":{"lon":181,"lat":0},"radius":1}}]})",
        R"({"must":[{"key":"x","geo_polygon":{"exterior":{"points":[]}}}]})",
        R"({"must":[{"has_id":1}]})", R"({"must":[{"has_id":[-1]}]})",
        R"({"must":[{"has_id":[1],"has_vector":"a"}]})", R"({"must":[{"nested":{"key":"a"}}]})",
        R"({"must":[{"key":"a..b","is_null":true}]})", R"({"min_should":{"conditions":[]}})",
        R"([])"}) {
    const auto decoded = filter(bad);
    ASSERT_FALSE(decoded) << bad;
    EXPECT_EQ(decoded.error().status, 400) << bad;
    EXPECT_TRUE(decoded.error().text.starts_with("Format error in JSON body: filter")) << bad;
  }
}

TEST(DecodeCollection, Fields) {
  const auto one = collection(
      R"({"vectors":{"size":4,"distance":"Euclid","on_disk":null,"datatype":"float16","hnsw_config":{"m":8,"zzz":1}},
          "shard_number":2,"optimizers_config":{"deleted_threshold":0.5,"max_segment_size":1024,
          "max_optimization_threads":0,"default_segment_number":3},"wal_config":{"wal_capacity_mb":null},"init_from":null})");
  ASSERT_TRUE(one) << one.error().text;
  ASSERT_EQ(one->fields.size(), 1U);
  EXPECT_EQ(one->fields[0], (FieldSchema{"", FieldKind::kDense, 4, DType::kF16, Metric::kEuclid,
                                         SparseModifier::kNone}));
  EXPECT_EQ(one->shard_number, 2U);
  EXPECT_EQ(one->optimizer.deleted_threshold, 0.5);
  EXPECT_EQ(one->optimizer.max_threads, 0U);
  EXPECT_EQ(one->optimizer.max_segments, 3U);
  EXPECT_EQ(one->optimizer.max_segment_rows, 1024U * 1024 / 8);
  EXPECT_EQ(
      one->client_settings,
      R"({"vectors":{"size":4,"distance":"Euclid","datatype":"float16","hnsw_config":{"m":8}},"shard_number":2,"optimizers_config":{"deleted_threshold":0.5,"max_segment_size":1024,"max_optimization_threads":0,"default_segment_number":3},"wal_config":{}})");
  for (const auto& [word, dtype] : {std::pair{"turbo4", DType::kTurbo4},
                                    {"turbo8", DType::kTurbo8},
                                    {"turbo16", DType::kTurbo16},
                                    {"bfloat16", DType::kBf16},
                                    {"int8", DType::kI8},
                                    {"float8_e4m3", DType::kE4m3},
                                    {"float8_e5m2", DType::kE5m2},
                                    {"binary", DType::kBinary}}) {
    const auto turbo = collection(
        fmt::format(R"({{"vectors":{{"size":4,"distance":"Dot","datatype":"{}"}}}})", word));
    ASSERT_TRUE(turbo) << turbo.error().text;
    EXPECT_EQ(turbo->fields[0].dtype, dtype);
    const auto sparse = collection(
        fmt::format(R"({{"sparse_vectors":{{"s":{{"index":{{"datatype":"{}"}}}}}}}})", word));
    ASSERT_FALSE(sparse);
    EXPECT_NE(sparse.error().text.find(fmt::format("sparse vectors do not support the `{}`", word)),
              std::string::npos)
        << sparse.error().text;
  }
  const auto threshold = [](const std::string& kb) {
    return collection(R"({"optimizers_config":{"indexing_threshold":)" + kb + "}}")
        ->optimizer.index_min_bytes;
  };
  EXPECT_EQ(threshold("777"), 777U * 1024);
  EXPECT_EQ(threshold("0"), std::numeric_limits<std::uint64_t>::max()) << "nothing is indexed";
  EXPECT_EQ(threshold("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(threshold("null"), engine::OptimizerConfig().index_min_bytes);
  const auto named = collection(
      R"({"vectors":{"a":{"size":2,"distance":"Dot"},"m":{"size":3,"distance":"Cosine","multivector_config":{"comparator":"max_sim"}}},
          "sparse_vectors":{"s":{"modifier":"idf"},"t":{}}})");
  ASSERT_TRUE(named) << named.error().text;
  ASSERT_EQ(named->fields.size(), 4U);
  EXPECT_EQ(named->fields[1].kind, FieldKind::kMulti);
  EXPECT_EQ(named->fields[2].kind, FieldKind::kSparse);
  EXPECT_EQ(named->fields[2].modifier, SparseModifier::kIdf);
  EXPECT_TRUE(collection(R"({"vectors":{}})")->fields.empty());
  EXPECT_TRUE(collection("{}")->fields.empty());
}

TEST(DecodeCollection, Errors) {
  expect_error(collection(R"({"vectors":{"size":0,"distance":"Dot"}})"), 422,
               "Validation error in JSON body: [vectors.size: value 0 invalid, must be from 1 to "
               "65536]");
  expect_error(
      collection(R"({"vectors":{"size":65537,"distance":"Dot"}})"), 422,
      "Validation error in JSON body: [vectors.size: value 65537 invalid, must be from 1 to "
      "65536]");
  expect_error(
      collection(R"({"vectors":{"size":4,"distance":"dot"}})"), 400,
      "Format error in JSON body: vectors.distance: unknown variant `dot`, expected one of "
      "`Cosine`, `Euclid`, `Dot`, `Manhattan`");
  expect_error(collection(R"({"vectors":{"size":4}})"), 400,
               "Format error in JSON body: vectors: missing field `distance`");
  expect_error(
      collection(
          R"({"vectors":{"image":{"size":4,"distance":"Dot"}},"sparse_vectors":{"image":{}}})"),
      400,
      "Wrong input: Dense and sparse vector names must be unique - duplicate found with 'image'");
  expect_error(collection(R"({"sparse_vectors":{"":{}}})"), 400,
               "Wrong input: Sparse vector name cannot be empty");
  expect_error(
      collection(R"({"hnsw_config":{"ef_construct":1}})"), 422,
      "Validation error in JSON body: [hnsw_config.ef_construct: value 1 invalid, must be 4 "
      "or larger]");
  expect_error(
      collection(R"({"shard_number":0})"), 422,
      "Validation error in JSON body: [shard_number: value 0 invalid, must be 1 or larger]");
  EXPECT_EQ(collection(R"({"shard_number":64})")->shard_number, 64U);
  expect_error(collection(R"({"shard_number":65})"), 422,
               "Validation error in JSON body: [shard_number: value 65 invalid, must be from 1 to "
               "64; `storage.max_shard_number` sets the limit]");
  std::string large = R"({"shard_number":1024})";
  EXPECT_EQ(decode_collection(large, {.optimizer = {}, .max_shard_number = 1024})->shard_number,
            1024U);
  for (const char* bad :
       {R"({"vectors":1})", R"({"vectors":{"a":1}})", R"({"hnsw_config":{"m":"x"}})",
        R"({"vectors":{"size":4,"distance":"Dot","datatype":"float64"}})",
        R"({"sparse_vectors":{"s":{"modifier":"x"}}})", R"({"optimizers_config":[]})",
        R"({"optimizers_config":{"max_optimization_threads":"many"}})",
        R"({"sharding_method":"some"})", R"({"on_disk_payload":"yes"})"}) {
    const auto decoded = collection(bad);
    ASSERT_FALSE(decoded) << bad;
    EXPECT_EQ(decoded.error().status, 400) << bad << decoded.error().text;
  }
}

Result<> patch(engine::CollectionConfig& config, std::string body) {
  const auto decoded = CollectionPatch::decode(body);
  EXPECT_TRUE(decoded) << decoded.error().text;
  return decoded->apply(config);
}

/// The index configuration of the only field that the members of a collection's JSON object give.
std::string index_of(const std::string& members) {
  const auto config = *collection(R"({"vectors":{"size":4,"distance":"Dot"},)" + members + "}");
  const auto found = config.vector_indexes.find("");
  if (found == config.vector_indexes.end()) return "usual";
  const auto& index = found->second;
  std::string text = index.enabled ? "" : "none ";
  if (index.min_bytes) text += "min=" + std::to_string(*index.min_bytes) + ' ';
  return text + quiver::to_string(index.build);
}

TEST(VectorIndexes, QuantizationSaysHowManyBits) {
  const auto bits = [](const std::string& method) {
    return index_of(R"("quantization_config":{)" + method + "}");
  };
  EXPECT_EQ(bits(R"("scalar":{"type":"int8"})"), "usual");
  EXPECT_EQ(bits(R"("binary":{})"), "bits=1 refine_bits=0");
  EXPECT_EQ(bits(R"("binary":{"encoding":"one_bit"})"), "bits=1 refine_bits=0");
  EXPECT_EQ(bits(R"("binary":{"encoding":"two_bits"})"), "bits=2 refine_bits=0");
  EXPECT_EQ(bits(R"("binary":{"encoding":"one_and_half_bits"})"), "bits=2 refine_bits=0");
  EXPECT_EQ(bits(R"("product":{"compression":"x4"})"), "usual");
  EXPECT_EQ(bits(R"("product":{"compression":"x8"})"), "bits=1 refine_bits=4");
  EXPECT_EQ(bits(R"("product":{"compression":"x16"})"), "bits=2 refine_bits=0");
  EXPECT_EQ(bits(R"("product":{"compression":"x32"})"), "bits=1 refine_bits=0");
  EXPECT_EQ(bits(R"("product":{"compression":"x64"})"), "bits=1 refine_bits=0");
  EXPECT_EQ(bits(R"("turbo":{})"), "bits=1 refine_bits=4");
  EXPECT_EQ(bits(R"("turbo":{"bits":"bits1"})"), "bits=1 refine_bits=0");
  EXPECT_EQ(bits(R"("turbo":{"bits":"bits1_5"})"), "bits=2 refine_bits=0");
  EXPECT_EQ(bits(R"("turbo":{"bits":"bits2"})"), "bits=2 refine_bits=0");
  EXPECT_EQ(bits(R"("turbo":{"bits":"bits4"})"), "bits=1 refine_bits=4");
  EXPECT_EQ(index_of(R"("quantization_config":null)"), "usual");
}

TEST(VectorIndexes, HnswSaysWhetherAndFromWhatSize) {
  EXPECT_EQ(index_of(R"("hnsw_config":{})"), "usual");
  EXPECT_EQ(index_of(R"("hnsw_config":{"m":32,"ef_construct":500,"payload_m":8,"on_disk":true})"),
            "usual");
  EXPECT_EQ(index_of(R"("hnsw_config":{"m":0})"), "none ");
  EXPECT_EQ(index_of(R"("hnsw_config":{"full_scan_threshold":20})"), "min=20480 ");
  EXPECT_EQ(index_of(R"("hnsw_config":{"full_scan_threshold":20},
                        "optimizers_config":{"indexing_threshold":10})"),
            "min=20480 ");
  EXPECT_EQ(index_of(R"("hnsw_config":{"full_scan_threshold":20},
                        "optimizers_config":{"indexing_threshold":30})"),
            "min=30720 ");
  EXPECT_EQ(index_of(R"("hnsw_config":{"full_scan_threshold":20},
                        "optimizers_config":{"indexing_threshold":0})"),
            "min=18446744073709551615 ");
}

TEST(VectorIndexes, AFieldsOwnSettingsGoFirstAndChangesAreFollowed) {
  auto config = *collection(
      R"({"vectors":{"a":{"size":4,"distance":"Dot","quantization_config":{"binary":{}}},
                     "b":{"size":4,"distance":"Dot","hnsw_config":{"m":16}},
                     "c":{"size":4,"distance":"Dot","hnsw_config":{"ef_construct":9}},
                     "t":{"size":4,"distance":"Dot","multivector_config":{"comparator":"max_sim"}}},
          "sparse_vectors":{"s":{}},"hnsw_config":{"m":0},
          "quantization_config":{"product":{"compression":"x8"}}})");
  const auto of = [&](const std::string& field) { return config.vector_indexes.at(field); };
  EXPECT_EQ(config.vector_indexes.size(), 4U) << "no sparse fields";
  EXPECT_EQ(quiver::to_string(of("t").build), "token_bits=4");
  EXPECT_FALSE(of("t").enabled);
  EXPECT_EQ(quiver::to_string(of("a").build), "bits=1 refine_bits=0");
  EXPECT_FALSE(of("a").enabled);
  EXPECT_EQ(quiver::to_string(of("b").build), "bits=1 refine_bits=4");
  EXPECT_TRUE(of("b").enabled);
  EXPECT_FALSE(of("c").enabled);

  ASSERT_TRUE(patch(config, R"({"vectors":{"a":{"hnsw_config":{"m":4},
        "quantization_config":"Disabled"}},"quantization_config":{"product":{"compression":"x16"}}})"));
  EXPECT_EQ(quiver::to_string(of("a").build), "bits=2 refine_bits=0");
  EXPECT_TRUE(of("a").enabled);
  EXPECT_FALSE(of("c").enabled);
  ASSERT_TRUE(patch(config, R"({"hnsw_config":{"m":8},"quantization_config":"Disabled"})"));
  EXPECT_TRUE(config.vector_indexes.empty());
}

TEST(CollectionPatch, Merges) {
  auto config = *collection(
      R"({"vectors":{"size":4,"distance":"Dot"},"hnsw_config":{"m":8},"quantization_config":{"scalar":{"type":"int8"}}})");
  ASSERT_TRUE(patch(
      config,
      R"({"vectors":{"":{"on_disk":true,"hnsw_config":{"m":3}}},"hnsw_config":{"ef_construct":50},
        "optimizers_config":{"max_optimization_threads":7,"memmap_threshold":null},"params":{"replication_factor":2},"metadata":{"a":1}})"));
  EXPECT_EQ(
      config.client_settings,
      R"({"vectors":{"size":4,"distance":"Dot","on_disk":true,"hnsw_config":{"m":3}},"hnsw_config":{"m":8,"ef_construct":50},"quantization_config":{"scalar":{"type":"int8"}},"optimizers_config":{"max_optimization_threads":7},"metadata":{"a":1},"replication_factor":2})");
  EXPECT_EQ(config.optimizer.max_threads, 7U);
  ASSERT_TRUE(patch(
      config,
      R"({"quantization_config":"Disabled","optimizers_config":{"max_optimization_threads":"auto"}})"));
  EXPECT_EQ(config.client_settings.find("quantization_config"), std::string::npos);
  EXPECT_EQ(config.optimizer.max_threads, std::nullopt);
  const auto unknown = patch(config, R"({"vectors":{"x":{"on_disk":true}}})");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().subject(), Subject::kVectorField);
  EXPECT_EQ(unknown.error().subject_name(), "x");
}

TEST(CollectionPatch, MetadataIsReplacedKeyByKey) {
  auto config = *collection(R"({"vectors":{},"metadata":{"a":1,"o":{"x":1},"gone":2}})");
  ASSERT_TRUE(patch(config, R"({"metadata":{"o":{"y":2},"gone":null,"new":"Disabled",
      "quantization_config":{"of":"theirs"},"nothing":null}})"));
  EXPECT_EQ(
      config.client_settings,
      R"({"vectors":{},"metadata":{"a":1,"o":{"y":2},"new":"Disabled","quantization_config":{"of":"theirs"}}})");
  ASSERT_TRUE(patch(config, R"({"metadata":{"quantization_config":"Disabled","new":null}})"));
  EXPECT_EQ(config.client_settings,
            R"({"vectors":{},"metadata":{"a":1,"o":{"y":2},"quantization_config":"Disabled"}})");
  auto bare = *collection(R"({"vectors":{}})");
  ASSERT_TRUE(patch(bare, R"({"metadata":{"a":{"b":1}}})"));
  EXPECT_EQ(bare.client_settings, R"({"vectors":{},"metadata":{"a":{"b":1}}})");
}

TEST(CollectionPatch, ChangesModifiers) {
  auto config = *collection(R"({"sparse_vectors":{"s":{},"t":{"modifier":"idf"}}})");
  ASSERT_TRUE(patch(config, R"({"sparse_vectors":{"s":{"modifier":"idf"},"t":{"index":{}}}})"));
  EXPECT_EQ(config.find_field("s")->modifier, SparseModifier::kIdf);
  EXPECT_EQ(config.find_field("t")->modifier, SparseModifier::kIdf);
  ASSERT_TRUE(patch(config, R"({"sparse_vectors":{"t":{"modifier":"none"}}})"));
  EXPECT_EQ(config.find_field("t")->modifier, SparseModifier::kNone);
  EXPECT_FALSE(patch(config, R"({"vectors":{"t":{"on_disk":true}}})"));
}

TEST(CollectionPatch, NamesOnlyWhatMayChange) {
  auto config = *collection(
      R"({"vectors":{"size":4,"distance":"Dot","quantization_config":{"binary":{}}},"sparse_vectors":{"s":{}}})");
  ASSERT_TRUE(patch(config,
                    R"({"vectors":{"":{"size":8,"distance":"Cosine","datatype":"uint8",
        "multivector_config":{"comparator":"max_sim"},"quantization_config":"Disabled"}}})"));
  EXPECT_EQ(config.client_settings,
            R"({"vectors":{"size":4,"distance":"Dot"},"sparse_vectors":{"s":{}}})");
  for (std::string bad :
       {R"({"vectors":{"":{"on_disk":"x"}}})", R"({"vectors":{"":{"hnsw_config":"Disabled"}}})",
        R"({"sparse_vectors":{"s":{"modifier":"bm25"}}})", R"({"quantization_config":{}})",
        R"({"strict_mode_config":{"enabled":5}})"}) {
    const auto decoded = CollectionPatch::decode(bad);
    ASSERT_FALSE(decoded) << bad;
    EXPECT_EQ(decoded.error().status, 400) << bad;
  }
}

TEST(DecodeCollection, RefusesWhatClientsCouldNotReadBack) {
  for (const char* bad : {R"("quantization_config":{})", R"("quantization_config":{"unheard":{}})",
                          R"("quantization_config":{"scalar":{"type":"int8"},"binary":{}})",
                          R"("quantization_config":{"scalar":{}})",
                          R"("quantization_config":{"scalar":{"type":"int4"}})",
                          R"("quantization_config":{"product":{"compression":"x5"}})",
                          R"("quantization_config":{"binary":{"encoding":"three_bits"}})",
                          R"("hnsw_config":{"memory":"warm"})",
                          R"("optimizers_config":{"max_optimization_threads":-1})",
                          R"("strict_mode_config":{"max_query_limit":"x"})",
                          R"("sparse_vectors":{"s":{"index":{"datatype":"float8"}}})"}) {
    const auto decoded =
        collection(R"({"vectors":{"size":4,"distance":"Dot"},)" + std::string(bad) + "}");
    ASSERT_FALSE(decoded) << bad;
    EXPECT_EQ(decoded.error().status, 400) << bad;
    EXPECT_TRUE(decoded.error().text.starts_with("Format error in JSON body: ")) << bad;
  }
  expect_error(
      collection(R"({"vectors":{"size":4,"distance":"Dot"},"quantization_config":{"int8":{}}})"),
      400,
      "Format error in JSON body: quantization_config: expected exactly one of `scalar`, "
      "`product`, `binary`, `turbo`");
}

TEST(DecodeCollection, PlacesOfPayloadsAndIdsAreKeptAndShown) {
  engine::CollectionInfo info;
  info.config = *collection(
      R"({"vectors":{},"payload":{"memory":"cached"},"id_tracker":{"memory":"pinned"}})");
  ASSERT_TRUE(patch(info.config, R"({"params":{"payload":{"memory":"cold"}}})"));
  std::string out;
  Writer writer(out);
  write_collection_info(writer, info);
  EXPECT_NE(out.find(R"("payload":{"memory":"cold"},"id_tracker":{"memory":"pinned"})"),
            std::string::npos)
      << out;
  expect_error(collection(R"({"vectors":{},"payload":{"memory":"pinned"}})"), 422,
               "Validation error in JSON body: [payload.memory: value \"pinned\" invalid, must be "
               "another than `pinned`]");
  EXPECT_EQ(collection(R"({"vectors":{},"id_tracker":{"memory":"warm"}})").error().status, 400);
}

Result<> add_vector(engine::CollectionConfig& config, std::string_view name, std::string body) {
  const auto creation = VectorCreation::decode(name, body);
  EXPECT_TRUE(creation) << creation.error().text;
  return creation->apply(config);
}

TEST(VectorCreation, FieldsAndTheirDescriptionAgree) {
  auto config = *collection(R"({"vectors":{"size":4,"distance":"Dot"},"hnsw_config":{"m":0}})");
  ASSERT_TRUE(add_vector(config, "b", R"({"dense":{"size":3,"distance":"Euclid"}})"));
  ASSERT_TRUE(add_vector(config, "w", R"({"sparse":{"modifier":"idf","datatype":"uint8"}})"));
  ASSERT_EQ(config.fields.size(), 3U);
  EXPECT_EQ(config.fields[1].metric, Metric::kEuclid);
  EXPECT_EQ(config.fields[2].modifier, SparseModifier::kIdf);
  EXPECT_EQ(config.client_settings,
            R"({"hnsw_config":{"m":0},"vectors":{"":{"size":4,"distance":"Dot"},)"
            R"("b":{"size":3,"distance":"Euclid"}},)"
            R"("sparse_vectors":{"w":{"index":{"datatype":"uint8"},"modifier":"idf"}}})");
  EXPECT_FALSE(config.vector_indexes.at("b").enabled) << "as the collection says";
  const auto before = config;
  ASSERT_TRUE(add_vector(config, "b", R"({"dense":{"size":3,"distance":"Euclid"}})"));
  EXPECT_FALSE(add_vector(config, "b", R"({"dense":{"size":4,"distance":"Euclid"}})"));
  EXPECT_FALSE(add_vector(config, "b", R"({"sparse":{}})"));
  EXPECT_EQ(config, before);
  ASSERT_TRUE(VectorDeletion("b").apply(config));
  ASSERT_TRUE(VectorDeletion("w").apply(config));
  ASSERT_TRUE(VectorDeletion("no").apply(config));
  EXPECT_EQ(config.find_field("b"), nullptr);
  EXPECT_EQ(config.vector_indexes.count("b"), 0U);
  EXPECT_EQ(config.client_settings,
            R"({"hnsw_config":{"m":0},"vectors":{"":{"size":4,"distance":"Dot"}},)"
            R"("sparse_vectors":{}})");
}

TEST(VectorCreation, RefusesWhatIsNoField) {
  const auto decode = [](std::string_view name, std::string body) {
    return VectorCreation::decode(name, body);
  };
  expect_error(decode("b", "{}"), 400,
               "Format error in JSON body: expected exactly one of `dense`, `sparse`");
  EXPECT_EQ(decode("b", R"({"dense":{"size":0,"distance":"Dot"}})").error().status, 422);
  EXPECT_EQ(decode("a/b", R"({"sparse":{}})").error().status, 422);
  EXPECT_EQ(decode("b", R"({"sparse":{"datatype":"f7"}})").error().status, 400);
}

TEST(CollectionInfo, EchoesAndCompletes) {
  engine::CollectionInfo info;
  info.config = *collection(R"({"vectors":{"size":4,"distance":"Dot"},"hnsw_config":{"m":8}})");
  info.n_points = 3;
  std::string out;
  Writer writer(out);
  write_collection_info(writer, info);
  EXPECT_EQ(
      out,
      R"({"status":"green","optimizer_status":"ok","indexed_vectors_count":0,"points_count":3,"segments_count":0,"config":{"params":{"vectors":{"size":4,"distance":"Dot"},"shard_number":1,"replication_factor":1,"write_consistency_factor":1,"on_disk_payload":true},"hnsw_config":{"m":8,"ef_construct":100,"full_scan_threshold":10000,"max_indexing_threads":0,"on_disk":false},"optimizer_config":{"deleted_threshold":0.2,"vacuum_min_vector_number":1000,"default_segment_number":0,"max_segment_size":null,"memmap_threshold":null,"indexing_threshold":10000,"flush_interval_sec":5,"max_optimization_threads":null},"wal_config":{"wal_capacity_mb":32,"wal_segments_ahead":0,"wal_retain_closed":1},"quantization_config":null},"payload_schema":{},"update_queue":{"length":0}})");
}

TEST(CollectionInfo, SaysWhenTheCollectionWasCreated) {
  engine::CollectionInfo info;
  info.config = *collection(R"({"vectors":{"size":4,"distance":"Dot"}})");
  info.config.created_at_ms = 1'764'032'400'123;
  std::string out;
  Writer writer(out);
  write_collection_info(writer, info);
  EXPECT_TRUE(out.ends_with(R"(,"created_at":"2025-11-25T01:00:00.123000Z"})")) << out;
}

TEST(CollectionInfo, WarnsOfDamage) {
  engine::CollectionInfo info;
  info.n_damaged_segments = 2;
  info.n_damaged_indexes = 3;
  std::string out;
  Writer writer(out);
  write_collection_info(writer, info);
  EXPECT_NE(out.find(R"("warnings":[{"message":"2 segments were found damaged;)"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find(R"({"message":"the vector indexes of 3 segments were found damaged;)"),
            std::string::npos)
      << out;
}

TEST(DecodeIndex, RefusesOrLeavesOutWhatClientsCouldNotReadBack) {
  const auto index = [](const std::string& schema) {
    std::string body = R"({"field_name":"k","field_schema":)" + schema + "}";
    return decode_index(body);
  };
  EXPECT_EQ(index(R"({"type":"geo","is_principal":true,"on_disk":true})")->client_settings,
            R"({"type":"geo","on_disk":true})");
  const std::string text =
      R"({"type":"text","stopwords":{"languages":["english"],"custom":["foo"]},)"
      R"("stemmer":{"type":"snowball","language":"english"}})";
  EXPECT_EQ(index(text)->client_settings, text);
  for (const char* bad :
       {R"({"type":"text","stopwords":"klingon"})", R"({"type":"text","stopwords":["a"]})",
        R"({"type":"text","stopwords":{"custom":5}})",
        R"({"type":"text","stemmer":{"type":"foo"}})", R"({"type":"keyword","is_tenant":"x"})",
        R"({"type":"integer","lookup":5})"}) {
    const auto decoded = index(bad);
    ASSERT_FALSE(decoded) << bad;
    EXPECT_EQ(decoded.error().status, 400) << bad;
  }
}

TEST(DecodeIndex, Scoring) {
  const auto index = [](const std::string& scoring) {
    std::string body =
        R"({"field_name":"k","field_schema":{"type":"text","scoring":)" + scoring + "}}";
    return decode_index(body);
  };
  EXPECT_TRUE(index("true")->scoring);
  EXPECT_TRUE(index(R"({"type":"bm25"})")->scoring);
  EXPECT_FALSE(index("false")->scoring);
  EXPECT_EQ(index("true")->client_settings, R"({"type":"text","scoring":true})");
  expect_error(index(R"({"type":"tfidf"})"), 400,
               "Format error in JSON body: field_schema.scoring.type: unknown variant `tfidf`, "
               "expected `bm25`");
  expect_error(index("1"), 400,
               "Format error in JSON body: field_schema.scoring: invalid type: integer `1`, "
               "expected a boolean");
}

TEST(DecodeIndex, WhatHasNoEffectHereIsRefused) {
  const auto index = [](const std::string& schema) {
    std::string body = R"({"field_name":"k","field_schema":)" + schema + "}";
    return decode_index(body);
  };
  for (const char* type :
       {"keyword", "integer", "float", "bool", "geo", "datetime", "uuid", "text"}) {
    const std::string schema = R"({"type":")" + std::string(type) + R"(","nested":)";
    expect_error(index(schema + R"("offers"})"), 400,
                 "Wrong input: field_schema.nested: indexes of an array's objects one by one are "
                 "not supported");
    EXPECT_TRUE(index(schema + "null}")) << type;
  }
}

TEST(DecodeIndex, IntegersAreForLookupsOrRanges) {
  const auto index = [](const std::string& members) {
    std::string body = R"({"field_name":"k","field_schema":{"type":"integer",)" + members + "}}";
    return decode_index(body);
  };
  expect_error(index(R"("lookup":false,"range":false)"), 422,
               "Validation error in JSON body: [field_schema.lookup: Validation error: the "
               "'lookup' and 'range' capabilities can't be both disabled]");
  EXPECT_TRUE(index(R"("lookup":false,"range":true)"));
  EXPECT_TRUE(index(R"("lookup":false)"));
  EXPECT_TRUE(index(R"("range":false)"));
}

TEST(DecodeIndex, Schemas) {
  std::string text = R"({"field_name":"t","field_schema":{"type":"text","tokenizer":"prefix",
      "min_token_len":2,"max_token_len":9,"lowercase":false,"phrase_matching":true,"on_disk":null,"zzz":1}})";
  const auto decoded = decode_index(text);
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(decoded->kind, payload::IndexKind::kText);
  EXPECT_EQ(decoded->text, (payload::TextOptions{payload::Tokenizer::kPrefix, false, true, 2, 9}));
  EXPECT_EQ(
      decoded->client_settings,
      R"({"type":"text","tokenizer":"prefix","min_token_len":2,"max_token_len":9,"lowercase":false,"phrase_matching":true})");
  EXPECT_EQ(decoded->text.stopwords, payload::Stopwords());
  EXPECT_EQ(decoded->text.stemmer, std::nullopt);
  std::string keyword = R"({"field_name":"k","field_schema":"keyword"})";
  EXPECT_EQ(decode_index(keyword)->client_settings, "\"keyword\"");
  std::string none = R"({"field_name":"k"})";
  expect_error(decode_index(none), 400,
               "Wrong input: Can't auto-detect field type, please specify `field_schema` in the "
               "request");
}

TEST(DecodeIndex, AnalysisOfTexts) {
  using payload::StopwordLanguage;
  const auto index = [](const std::string& members) {
    std::string body = R"({"field_name":"t","field_schema":{"type":"text",)" + members + "}}";
    return decode_index(body);
  };
  const auto all = index(
      R"("tokenizer":"code","ascii_folding":true,"stemmer":{"type":"snowball","language":"german"},)"
      R"("stopwords":{"languages":["german","english","german"],"custom":["Foo","bar","Foo"]})");
  ASSERT_TRUE(all) << all.error().text;
  EXPECT_EQ(all->text.tokenizer, payload::Tokenizer::kCode);
  EXPECT_TRUE(all->text.ascii_folding);
  EXPECT_EQ(all->text.stemmer, payload::StemmerLanguage::kGerman);
  EXPECT_EQ(all->text.stopwords,
            (payload::Stopwords{{StopwordLanguage::kEnglish, StopwordLanguage::kGerman},
                                {"Foo", "bar"}}));
  EXPECT_EQ(
      all->client_settings,
      R"({"type":"text","tokenizer":"code","ascii_folding":true,"stemmer":{"type":"snowball","language":"german"},"stopwords":{"languages":["german","english","german"],"custom":["Foo","bar","Foo"]}})");
  const auto synonyms = index(R"("synonyms":[["car","Auto"],["tv"]])");
  ASSERT_TRUE(synonyms) << synonyms.error().text;
  EXPECT_EQ(synonyms->text.synonyms,
            (std::vector<std::vector<std::string>>{{"car", "Auto"}, {"tv"}}));
  EXPECT_EQ(synonyms->client_settings, R"({"type":"text","synonyms":[["car","Auto"],["tv"]]})");
  expect_error(index(R"("synonyms":[["car","motor car"]])"), 400,
               "Format error in JSON body: field_schema.synonyms[0]: `motor car` is no single word "
               "of the tokenizer, but 2 words and other characters");
  const auto one = index(R"("stopwords":"turkish","stemmer":{"type":"none"})");
  ASSERT_TRUE(one) << one.error().text;
  EXPECT_EQ(one->text.stopwords.languages, std::vector{StopwordLanguage::kTurkish});
  EXPECT_EQ(one->text.stemmer, std::nullopt);
  for (const char* bad :
       {R"("stemmer":{"type":"snowball"})", R"("stemmer":{"type":"snowball","language":"klingon"})",
        R"("stemmer":{"type":"porter","language":"english"})",
        R"("stemmer":{"language":"english"})", R"("stopwords":"klingon")",
        R"("stopwords":{"languages":["klingon"]})", R"("stopwords":{"custom":[1]})",
        R"("ascii_folding":1)", R"("tokenizer":"x")", R"("synonyms":["a","b"])",
        R"("synonyms":[["a",1]])", R"("synonyms":[["car","motor car"]])", R"("synonyms":[[""]])",
        R"("synonyms":[["car!"]])"}) {
    const auto refused = index(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().status, 400) << bad;
  }
}

TEST(Errors, OfTheEngine) {
  const auto map = [](Code code, std::string text, Subject subject = Subject::kNone) {
    const ApiError error(Error(code, subject, "n", std::move(text)));
    return std::to_string(error.status) + " " + error.text;
  };
  EXPECT_EQ(map(Code::kInvalidArgument, "x"), "400 Wrong input: x");
  EXPECT_EQ(map(Code::kFailedPrecondition, "x"), "400 Bad request: x");
  EXPECT_EQ(map(Code::kNotFound, "x"), "404 Not found: x");
  EXPECT_EQ(map(Code::kAlreadyExists, "x"), "409 Wrong input: x");
  EXPECT_EQ(map(Code::kDeadlineExceeded, "x"), "408 Timeout: x");
  EXPECT_EQ(map(Code::kResourceExhausted, "x"), "429 Rate limiting exceeded: x");
  EXPECT_EQ(map(Code::kResourceExhausted, "no space left on device", Subject::kDisk),
            "507 Insufficient storage: no space left on device");
  EXPECT_EQ(map(Code::kResourceExhausted, "none", Subject::kMemory),
            "507 Insufficient memory: none");
  EXPECT_EQ(map(Code::kNotFound, "", Subject::kCollection),
            "404 Not found: Collection `n` doesn't exist!");
  EXPECT_EQ(map(Code::kAlreadyExists, "", Subject::kCollection),
            "409 Wrong input: Collection `n` already exists!");
  EXPECT_EQ(map(Code::kNotFound, "", Subject::kAlias), "404 Not found: Alias n does not exists!");
  EXPECT_EQ(map(Code::kAlreadyExists, "", Subject::kAlias),
            "409 Wrong input: Alias n already exists!");
  EXPECT_EQ(
      map(Code::kInvalidArgument, "", Subject::kAlias),
      "400 Wrong input: Can't create collection with name n. Alias with the same name already "
      "exists");
  EXPECT_EQ(map(Code::kInvalidArgument, "", Subject::kVectorField),
            "400 Wrong input: Not existing vector name error: n");
  EXPECT_EQ(map(Code::kUnavailable, "x"), "503 Shard temporarily unavailable: x");
  EXPECT_EQ(map(Code::kDataLoss, "x"), "503 Shard temporarily unavailable: x");
  EXPECT_EQ(map(Code::kInternal, "x"), "500 Service internal error: x");
}

TEST(PathIds, NumbersAndUuids) {
  EXPECT_EQ(*parse_path_id("18446744073709551615"), PointId::number(18446744073709551615ULL));
  EXPECT_EQ(parse_path_id("5c56c793-69f3-4fbf-87e6-c4bf54c28c26")->kind(), PointId::Kind::kUuid);
  for (const char* bad : {"", "-1", "1.5", "+1", "18446744073709551616", "x"}) {
    expect_error(parse_path_id(bad), 400,
                 "Wrong input: Can not recognize \"" + std::string(bad) + "\" as point id");
  }
}

/// The next request of the thread must not use a parser that lacks a part of its memory.
TEST(Decode, AParserThatFoundNoMemoryIsNotUsedAgain) {
  const std::string text = R"({"a":[)" + std::string(40'000, ' ') + "1]}";
  for (int n_before = 0; n_before < 12; ++n_before) {
    std::string body = text;
    std::string next = text + "   ";
    body.reserve(2 * text.size());
    next.reserve(2 * text.size());
    testing_support::fail_allocations(n_before, 1);
    try {
      EXPECT_TRUE(parse_body(body));
    } catch (const std::bad_alloc&) {
    }
    testing_support::fail_allocations(0, 0);
    EXPECT_TRUE(parse_body(next)) << n_before;
  }
}

}  // namespace
}  // namespace quiver::service::json
