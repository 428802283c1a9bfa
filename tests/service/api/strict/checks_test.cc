#include "service/api/strict/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/api/strict/costs.h"
#include "service/api/strict/defaults.h"

namespace quiver::service::api::strict {
namespace {

using engine::Query;
using payload::FieldCondition;
using payload::FieldIndex;
using payload::Filter;
using payload::IndexKind;
using payload::ValueCondition;
using ::testing::HasSubstr;

CollectionConfig strict_config(engine::StrictMode mode = {}) {
  CollectionConfig config;
  config.strict_mode = std::move(mode);
  return config;
}

FieldIndex index_on(std::string key, IndexKind kind, std::string settings = {}) {
  FieldIndex index;
  index.key = std::move(key);
  index.kind = kind;
  index.client_settings = std::move(settings);
  return index;
}

Filter filter_of(std::string key, ValueCondition condition) {
  Filter filter;
  filter.must.emplace_back(FieldCondition{std::move(key), std::move(condition)});
  return filter;
}

ValueCondition text_value(std::string text) {
  return payload::MatchValue{payload::MatchScalar(std::move(text))};
}

ValueCondition integer_value() {
  return payload::MatchValue{payload::MatchScalar(std::int64_t{1})};
}

/// "" if it is allowed.
std::string refusal(const Result<>& result) {
  if (result) return {};
  EXPECT_EQ(result.error().code(), Code::kFailedPrecondition);
  return result.error().message();
}

TEST(StrictChecks, QueryLimitAtBelowAndAbove) {
  engine::StrictMode mode;
  mode.max_query_limit = 15;
  const auto config = strict_config(mode);
  for (const std::uint64_t limit : {0, 14, 15}) EXPECT_TRUE(check_query_limit(config, limit));
  EXPECT_EQ(refusal(check_query_limit(config, 16)),
            "Limit exceeded 16 > 15 for \"limit\". Help: Reduce the \"limit\" parameter to or "
            "below 15.");
  EXPECT_THAT(refusal(check_query_limit(config, 10, 3)), HasSubstr("30 > 15"));
  EXPECT_TRUE(check_query_limit(config, 5, 3));
  EXPECT_FALSE(check_query_limit(config, ~std::uint64_t{0}, 2)) << "the product does not wrap";
}

TEST(StrictChecks, PrefetchesAreQueriesToo) {
  engine::StrictMode mode;
  mode.max_query_limit = 15;
  Query query;
  query.limit = 1;
  query.prefetch.emplace_back().prefetch.emplace_back().limit = 15;
  EXPECT_TRUE(check_query(strict_config(mode), query));
  query.prefetch[0].prefetch[0].limit = 16;
  EXPECT_FALSE(check_query(strict_config(mode), query));
}

TEST(StrictChecks, SearchParams) {
  engine::StrictMode mode;
  mode.max_hnsw_ef = 5;
  mode.max_oversampling = 2.0;
  mode.allows_exact_search = false;
  const auto config = strict_config(mode);
  engine::SearchParams params;
  EXPECT_TRUE(check_search_params(config, params));
  params.hnsw_ef = 5;
  params.oversampling = 2.0;
  EXPECT_TRUE(check_search_params(config, params));
  params.hnsw_ef = 6;
  EXPECT_EQ(refusal(check_search_params(config, params)),
            "Limit exceeded 6 > 5 for \"hnsw_ef\". Help: Reduce the \"hnsw_ef\" parameter to or "
            "below 5.");
  params.hnsw_ef.reset();
  params.oversampling = 2.5;
  EXPECT_THAT(refusal(check_search_params(config, params)), HasSubstr("2.5 > 2 for"));
  params.oversampling.reset();
  params.exact = true;
  EXPECT_EQ(refusal(check_search_params(config, params)),
            "Exact search disabled!. Help: Set exact=false.");
  EXPECT_TRUE(check_search_params(strict_config(), params));
}

TEST(StrictChecks, BatchAndUpsertSizes) {
  engine::StrictMode mode;
  mode.max_batch_searches = 2;
  mode.max_upsert_points = 2;
  const auto config = strict_config(mode);
  EXPECT_TRUE(check_batch(config, 2));
  EXPECT_THAT(refusal(check_batch(config, 3)), HasSubstr("\"search batch size\""));
  engine::Upsert upsert;
  upsert.points.resize(2);
  EXPECT_TRUE(check_operation(config, upsert));
  upsert.points.resize(3);
  EXPECT_THAT(refusal(check_operation(config, upsert)), HasSubstr("3 > 2 for \"upsert limit\""));
  engine::UpdateVectors update;
  update.points.resize(3);
  EXPECT_THAT(refusal(check_operation(config, update)), HasSubstr("\"update limit\""));
  EXPECT_TRUE(check_operation(config, engine::DeletePoints{std::vector<PointId>(3)}));
}

TEST(StrictChecks, SizesOfVectors) {
  engine::StrictMode mode;
  mode.max_tokens = {{"m", 2}};
  mode.max_nonzeros = {{"s", 2}};
  const auto config = strict_config(mode);
  engine::Upsert upsert;
  auto& vectors = upsert.points.emplace_back().vectors;
  vectors.push_back({"m", engine::MultiVector{2, 1, {1, 1}}});
  vectors.push_back({"s", engine::SparseVector{{1, 2}, {1, 1}}});
  vectors.push_back({"other", engine::MultiVector{9, 1, std::vector<float>(9)}});
  EXPECT_TRUE(check_operation(config, upsert));
  vectors[0].value = engine::MultiVector{3, 1, {1, 1, 1}};
  EXPECT_EQ(refusal(check_operation(config, upsert)),
            "Multivector 'm' has a limit of 2 vectors, but 3 were provided!");
  vectors[0].value = engine::MultiVector{1, 1, {1}};
  vectors[1].value = engine::SparseVector{{1, 2, 3}, {1, 1, 1}};
  EXPECT_EQ(refusal(check_operation(config, upsert)),
            "Sparse vector 's' has a limit of 2 indices, but 3 were provided!");
}

TEST(StrictChecks, SizesOfCollections) {
  engine::StrictMode mode;
  mode.max_points = 10;
  EXPECT_TRUE(check_size(mode, {9, 0, 0}));
  EXPECT_EQ(refusal(check_size(mode, {10, 0, 0})), "Max points count limit of 10 reached!");
  mode.max_vector_bytes = 512 * 1024;
  mode.max_payload_bytes = 2 * 1024 * 1024;
  EXPECT_TRUE(check_size(mode, {0, 512 * 1024 - 1, 2 * 1024 * 1024 - 1}));
  EXPECT_EQ(refusal(check_size(mode, {0, 512 * 1024, 0})),
            "Max vector storage size limit of 0.5MB reached!");
  EXPECT_EQ(refusal(check_size(mode, {0, 0, 2 * 1024 * 1024})),
            "Max payload storage size limit of 2MB reached!");
  EXPECT_TRUE(check_payload_size(mode, {99, 1 << 30, 0})) << "only payloads count for payloads";
}

TEST(StrictChecks, NumberOfPayloadIndexes) {
  engine::StrictMode mode;
  mode.max_payload_indexes = 1;
  auto config = strict_config(mode);
  EXPECT_TRUE(check_new_index(config, "a"));
  config.indexes.push_back(index_on("a", IndexKind::kKeyword));
  EXPECT_TRUE(check_new_index(config, "a")) << "it is replaced";
  EXPECT_EQ(refusal(check_new_index(config, "b")),
            "Collection already has the maximum number of payload indices (1). Help: Please delete "
            "an existing index before creating a new one.");
}

TEST(StrictChecks, Memory) {
  engine::StrictMode mode;
  EXPECT_TRUE(check_memory(mode, 100));
  mode.max_resident_memory_percent = 80;
  EXPECT_TRUE(check_memory(mode, 79));
  EXPECT_THAT(refusal(check_memory(mode, 80)), HasSubstr("is at 80% of total memory"));
}

TEST(StrictChecks, FilterSizes) {
  engine::StrictMode mode;
  mode.max_filter_conditions = 2;
  mode.max_condition_size = 2;
  const auto config = strict_config(mode);
  auto filter = filter_of("a", payload::MatchAny{{std::int64_t{1}, std::int64_t{2}}});
  filter.must_not.emplace_back(payload::HasId{std::vector<PointId>(2)});
  EXPECT_TRUE(check_read_filter(config, filter));
  EXPECT_TRUE(check_update_filter(config, &filter));
  filter.should.emplace_back(payload::HasVector{"v"});
  EXPECT_EQ(refusal(check_read_filter(config, filter)),
            "Filter condition limit reached (3 > 2). Help: Reduce the amount of conditions of your "
            "filter.");
  filter.should.clear();
  filter.must_not.clear();
  filter.must_not.emplace_back(payload::HasId{std::vector<PointId>(3)});
  EXPECT_EQ(refusal(check_update_filter(config, &filter)),
            "Condition size limit reached (3 > 2). Help: Reduce the size of your condition.");
}

TEST(StrictChecks, NestedFiltersCountTheirConditions) {
  Filter inner = filter_of("a", integer_value());
  inner.should.emplace_back(FieldCondition{
      "b", payload::MatchExcept{{std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}}});
  Filter outer;
  outer.must.emplace_back(payload::Nested{"x", std::make_shared<const Filter>(inner)});
  outer.min_should.emplace();
  outer.min_should->conditions.emplace_back(std::make_shared<const Filter>(inner));
  EXPECT_EQ(n_conditions(outer), 4U);
  EXPECT_EQ(strict::max_condition_size(outer), 3U);
  EXPECT_EQ(n_conditions(Filter()), 0U);
}

TEST(StrictChecks, UnindexedKeysAreRefused) {
  engine::StrictMode mode;
  mode.allows_unindexed_reads = false;
  auto config = strict_config(mode);
  const auto filter = filter_of("city", text_value("Berlin"));
  EXPECT_EQ(refusal(check_read_filter(config, filter)),
            "Index required but not found for \"city\" of one of the following types: [keyword]. "
            "Help: Create an index for this key or use a different filter.");
  EXPECT_TRUE(check_update_filter(config, &filter)) << "another setting";
  config.indexes.push_back(index_on("city", IndexKind::kKeyword));
  EXPECT_TRUE(check_read_filter(config, filter));
  EXPECT_TRUE(check_read_filter(config, std::nullopt));
}

TEST(StrictChecks, UnindexedUpdatesAreRefused) {
  engine::StrictMode mode;
  mode.allows_unindexed_updates = false;
  const auto config = strict_config(mode);
  const auto filter = filter_of("n", payload::Range{});
  const std::vector<engine::Operation> operations = {engine::DeletePoints{filter},
                                                     engine::SetPayload{"{}", {}, filter},
                                                     engine::OverwritePayload{"{}", {}, filter},
                                                     engine::DeletePayload{{"k"}, filter},
                                                     engine::ClearPayload{filter},
                                                     engine::DeleteVectors{{"v"}, filter}};
  for (const auto& operation : operations) {
    EXPECT_THAT(refusal(check_operation(config, operation)), HasSubstr("[float, integer]"));
  }
}

/// Each condition, and an index that serves it and one that does not.
TEST(StrictChecks, EveryConditionNeedsItsKindOfIndex) {
  struct Case {
    ValueCondition condition;
    FieldIndex serves;
    FieldIndex does_not;
  };
  auto lookup_only = index_on("k", IndexKind::kInteger, R"({"type":"integer","range":false})");
  lookup_only.range = false;
  const auto range_only =
      index_on("k", IndexKind::kInteger, R"({"type":"integer","lookup":false})");
  auto phrases = index_on("k", IndexKind::kText);
  phrases.text.phrase_matching = true;
  const auto index = [](IndexKind kind) { return index_on("k", kind); };
  const std::string uuid = "5c56c793-69f3-4fbf-87e6-c4bf54c28c26";
  const std::vector<Case> cases = {
      {integer_value(), lookup_only, range_only},
      {payload::Range{}, range_only, lookup_only},
      {payload::Range{}, index(IndexKind::kFloat), index(IndexKind::kKeyword)},
      {text_value("x"), index(IndexKind::kKeyword), index(IndexKind::kUuid)},
      {text_value(uuid), index(IndexKind::kUuid), index(IndexKind::kText)},
      {payload::MatchValue{payload::MatchScalar(true)}, index(IndexKind::kBool),
       index(IndexKind::kInteger)},
      {payload::MatchAny{{std::string("x"), uuid}}, index(IndexKind::kKeyword),
       index(IndexKind::kUuid)},
      {payload::MatchText{"x"}, index(IndexKind::kText), index(IndexKind::kKeyword)},
      {payload::MatchTextAny{"x"}, index(IndexKind::kText), index(IndexKind::kKeyword)},
      {payload::MatchPhrase{"x"}, phrases, index(IndexKind::kText)},
      {payload::MatchPrefix{"x"}, index_on("k", IndexKind::kKeyword, R"({"prefix":true})"),
       index(IndexKind::kKeyword)},
      {payload::DatetimeRange{}, index(IndexKind::kDatetime), index(IndexKind::kInteger)},
      {payload::GeoRadius{}, index(IndexKind::kGeo), index(IndexKind::kFloat)},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto filter = filter_of("k", cases[i].condition);
    EXPECT_FALSE(first_unindexed(filter, {cases[i].serves})) << i;
    EXPECT_TRUE(first_unindexed(filter, {cases[i].does_not})) << i;
    EXPECT_TRUE(first_unindexed(filter, {})) << i;
  }
}

TEST(StrictChecks, AnyIndexServesEmptyNullAndCounts) {
  for (const ValueCondition& condition :
       {ValueCondition(payload::IsEmpty{}), ValueCondition(payload::IsNull{}),
        ValueCondition(payload::ValuesCount{})}) {
    const auto filter = filter_of("k", condition);
    EXPECT_TRUE(first_unindexed(filter, {}));
    for (int kind = 0; kind <= static_cast<int>(IndexKind::kText); ++kind) {
      EXPECT_FALSE(first_unindexed(filter, {index_on("k", static_cast<IndexKind>(kind))})) << kind;
    }
  }
}

TEST(StrictChecks, ConditionsThatNeedNoIndex) {
  auto filter = filter_of("k", payload::MatchAny{});
  filter.must.emplace_back(payload::HasId{});
  filter.must.emplace_back(payload::HasVector{"v"});
  filter.must_not.emplace_back(FieldCondition{"k", payload::MatchExcept{}});
  EXPECT_FALSE(first_unindexed(filter, {}));
}

TEST(StrictChecks, NestedKeysArePathsFromTheRoot) {
  Filter inner = filter_of("population", payload::Range{});
  inner.must.emplace_back(FieldCondition{"sights", payload::ValuesCount{}});
  Filter filter;
  filter.must.emplace_back(payload::Nested{"country.cities", std::make_shared<Filter>(inner)});
  std::vector<FieldIndex> indexes = {index_on("country.cities[].population", IndexKind::kFloat)};
  const auto missing = first_unindexed(filter, indexes);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->key, "country.cities[].sights");
  indexes.push_back(index_on("country.cities[].sights", IndexKind::kInteger));
  EXPECT_FALSE(first_unindexed(filter, indexes));
}

TEST(StrictChecks, GroupKeys) {
  engine::StrictMode mode;
  mode.allows_unindexed_reads = false;
  auto config = strict_config(mode);
  EXPECT_EQ(refusal(check_group_key(config, "doc")),
            "Index required but not found for \"doc\". Help: Create an index supporting `match` "
            "for this key.");
  config.indexes = {index_on("doc", IndexKind::kGeo)};
  EXPECT_EQ(refusal(check_group_key(config, "doc")),
            "Index of type \"Geo\" found for \"doc\". Help: Create an index supporting `match` for "
            "this key.");
  config.indexes = {index_on("doc", IndexKind::kKeyword)};
  EXPECT_TRUE(check_group_key(config, "doc"));
}

TEST(StrictChecks, KeysOfFormulas) {
  engine::StrictMode mode;
  mode.allows_unindexed_reads = false;
  auto config = strict_config(mode);
  const std::vector<Need> numbers = {Need::kIntegerMatch, Need::kFloatRange};
  EXPECT_THAT(refusal(check_key(config, "price", numbers, "Create an index.")),
              HasSubstr("\"price\" of one of the following types: [float, integer]"));
  config.indexes = {index_on("price", IndexKind::kFloat)};
  EXPECT_TRUE(check_key(config, "price", numbers, ""));
}

TEST(StrictChecks, VariablesAndConditionsOfFormulas) {
  using engine::formula::ValueType;
  engine::StrictMode mode;
  mode.allows_unindexed_reads = false;
  auto config = strict_config(mode);
  const auto refused = [&](const engine::Formula& formula) {
    Query query;
    query.prefetch.emplace_back().kind = formula;
    return refusal(check_query(config, query));
  };
  const auto reads = [](std::string key, ValueType type) {
    engine::Formula formula;
    formula.variables = {{payload::JsonPath::parse(key).value(), type}};
    formula.variables[0].otherwise = payload::Value(std::int64_t{0});
    return formula;
  };
  EXPECT_EQ(refused(reads("price", ValueType::kNumber)),
            "Index required but not found for \"price\" of one of the following types: [float, "
            "integer]. Help: Create an index for this key or use a different formula expression.");
  EXPECT_THAT(refused(reads("at", ValueType::kDatetime)), HasSubstr("types: [datetime]"));
  EXPECT_THAT(refused(reads("here", ValueType::kGeoPoint)), HasSubstr("types: [geo]"));
  engine::Formula holds;
  holds.conditions = filter_of("tag", text_value("a")).must;
  EXPECT_THAT(refused(holds), HasSubstr("\"tag\" of one of the following types: [keyword]. Help: "
                                        "Create an index for this key or use a different formula"));
  config.indexes = {index_on("price", IndexKind::kInteger), index_on("tag", IndexKind::kKeyword),
                    index_on("at", IndexKind::kDatetime), index_on("here", IndexKind::kGeo)};
  EXPECT_EQ(refused(reads("price", ValueType::kNumber)), "");
  EXPECT_EQ(refused(reads("at", ValueType::kDatetime)), "");
  EXPECT_EQ(refused(reads("here", ValueType::kGeoPoint)), "");
  EXPECT_EQ(refused(holds), "");
  EXPECT_NE(refused(reads("here", ValueType::kNumber)), "") << "an index of another kind";
  config.indexes.clear();
  config.strict_mode->allows_unindexed_reads = true;
  EXPECT_EQ(refused(holds), "");
}

Query nearest(std::string field) {
  Query query;
  query.kind = engine::Nearest{engine::QueryVector(engine::VectorValue(engine::DenseVector{1}))};
  query.using_field = std::move(field);
  return query;
}

TEST(StrictChecks, AFieldWithoutIndexIsNotScanned) {
  engine::StrictMode mode;
  mode.allows_exact_search = false;
  auto config = strict_config(mode);
  EXPECT_TRUE(check_query(config, nearest("v")));
  config.vector_indexes["v"].enabled = false;
  EXPECT_THAT(refusal(check_query(config, nearest("v"))),
              HasSubstr("Request is forbidden on 'v' because global vector indexing is disabled"));
  EXPECT_TRUE(check_query(config, nearest("w")));
  auto rescored = nearest("v");
  rescored.prefetch.push_back(nearest("w"));
  EXPECT_TRUE(check_query(config, rescored)) << "only what the prefetch found is compared";
  rescored.using_field = "w";
  rescored.prefetch[0].using_field = "v";
  EXPECT_FALSE(check_query(config, rescored));
  config.strict_mode->allows_exact_search = true;
  EXPECT_TRUE(check_query(config, nearest("v")));
}

TEST(StrictChecks, ATenantsIndexIsEnough) {
  engine::StrictMode mode;
  mode.allows_exact_search = false;
  auto config = strict_config(mode);
  config.vector_indexes["v"].enabled = false;
  auto query = nearest("v");
  query.filter = filter_of("tenant", text_value("a"));
  config.indexes = {index_on("tenant", IndexKind::kKeyword, R"({"type":"keyword"})")};
  EXPECT_THAT(refusal(check_query(config, query)), HasSubstr("(hnsw_config.m = 0)"));
  config.indexes = {index_on("tenant", IndexKind::kKeyword, R"({"is_tenant":true})")};
  EXPECT_THAT(refusal(check_query(config, query)), HasSubstr("hnsw_config.payload_m = 0"));
  config.strict_mode->fields_indexed_by_tenant = {"v"};
  EXPECT_TRUE(check_query(config, query));
}

TEST(StrictDefaults, FillWhatTheCreatorLeavesOut) {
  const std::string defaults = R"({"enabled":true,"max_query_limit":3})";
  const auto merged = [&](const char* settings) {
    return with_default_strict_mode(settings, defaults);
  };
  EXPECT_EQ(merged(""), R"({"strict_mode_config":{"enabled":true,"max_query_limit":3}})");
  EXPECT_EQ(merged(R"({"a":1,"strict_mode_config":{"max_query_limit":5}})"),
            R"({"a":1,"strict_mode_config":{"max_query_limit":5,"enabled":true}})");
  EXPECT_EQ(merged(R"({"strict_mode_config":{"enabled":false}})"),
            R"({"strict_mode_config":{"enabled":false,"max_query_limit":3}})");
  EXPECT_EQ(merged("no json"), "no json");
  EXPECT_EQ(with_default_strict_mode("{}", "3"), "{}");
}

TEST(StrictCosts, Queries) {
  const auto three = [](const PointId&, const std::string&) -> std::uint64_t { return 3; };
  EXPECT_EQ(query_cost(Query(), three), 1U);
  EXPECT_EQ(query_cost(nearest("v"), three), 1U);
  Query multi = nearest("v");
  multi.kind = engine::Nearest{
      engine::QueryVector(engine::VectorValue(engine::MultiVector{4, 1, {1, 1, 1, 1}}))};
  EXPECT_EQ(query_cost(multi, three), 4U);
  Query sparse = nearest("s");
  engine::SparseVector vector;
  vector.indices.resize(65);
  sparse.kind = engine::Nearest{engine::QueryVector(engine::VectorValue(vector))};
  EXPECT_EQ(query_cost(sparse, three), 2U);
  Query by_id = nearest("v");
  by_id.kind = engine::Nearest{engine::QueryVector(PointId::number(1))};
  EXPECT_EQ(query_cost(by_id, three), 5U) << "its vectors, its lookup, its exclusion";
  Query examples = nearest("v");
  engine::Recommend recommend;
  recommend.strategy = engine::RecommendStrategy::kBestScore;
  for (std::uint64_t id = 1; id <= 5; ++id) recommend.positive.emplace_back(PointId::number(id));
  examples.kind = recommend;
  EXPECT_EQ(query_cost(examples, three), 5 * 3 + 5 + 1U);
  recommend.strategy = engine::RecommendStrategy::kAverageVector;
  examples.kind = recommend;
  EXPECT_EQ(query_cost(examples, three), 3 + 5 + 1U);
  engine::Discover discover;
  discover.target = engine::VectorValue(engine::DenseVector{1});
  discover.pairs.push_back({PointId::number(1), engine::VectorValue(engine::DenseVector{1})});
  examples.kind = discover;
  EXPECT_EQ(query_cost(examples, three), 1 + 3 + 1 + 1 + 1U);
  by_id.filter = filter_of("k", integer_value());
  Query fused;
  fused.kind = engine::Rrf{};
  fused.prefetch = {by_id, multi};
  EXPECT_EQ(query_cost(fused, three), 10U);
  Query rescored = nearest("v");
  rescored.prefetch = {multi};
  EXPECT_EQ(query_cost(rescored, three), 4U);
}

TEST(StrictCosts, Writes) {
  const auto fifty = [](const Filter&) -> std::uint64_t { return 50; };
  engine::Upsert upsert;
  EXPECT_EQ(write_cost(upsert, fifty), 1U);
  upsert.points.resize(7);
  EXPECT_EQ(write_cost(upsert, fifty), 7U);
  EXPECT_EQ(write_cost(engine::DeletePoints{std::vector<PointId>(3)}, fifty), 3U);
  EXPECT_EQ(write_cost(engine::DeletePoints{Filter()}, fifty), 50U);
  EXPECT_EQ(read_cost(std::nullopt), 1U);
  EXPECT_EQ(read_cost(filter_of("k", integer_value())), 2U);
}

}  // namespace
}  // namespace quiver::service::api::strict
