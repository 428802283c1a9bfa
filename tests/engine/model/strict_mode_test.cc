#include "engine/model/strict_mode.h"

#include <gtest/gtest.h>

#include "engine/model/config.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

FieldSchema dense_field(std::string name) {
  FieldSchema field;
  field.name = std::move(name);
  field.dim = 4;
  return field;
}

TEST(StrictMode, IsAbsentUnlessEnabled) {
  for (const auto* settings :
       {"", "{}", R"({"strict_mode_config":{}})", R"({"strict_mode_config":{"enabled":false}})",
        R"({"strict_mode_config":{"max_query_limit":3}})", R"({"strict_mode_config":null})",
        R"({"metadata":{"strict_mode_config":{"enabled":true}}})", R"({"strict_mode_config")"}) {
    EXPECT_FALSE(strict_mode_of(settings, {})) << settings;
  }
}

TEST(StrictMode, WithoutLimitsAllowsEverything) {
  const auto mode = strict_mode_of(R"({"strict_mode_config":{"enabled":true}})", {});
  ASSERT_TRUE(mode);
  EXPECT_EQ(*mode, StrictMode());
}

TEST(StrictMode, EveryLimitIsRead) {
  const auto mode = strict_mode_of(
      R"({"strict_mode_config":{"enabled":true,"max_query_limit":1,"max_timeout":2,
          "unindexed_filtering_retrieve":false,"unindexed_filtering_update":false,
          "search_max_hnsw_ef":3,"search_allow_exact":false,"search_max_oversampling":1.5,
          "upsert_max_batchsize":4,"search_max_batchsize":5,"max_collection_vector_size_bytes":6,
          "max_collection_payload_size_bytes":7,"max_points_count":8,"read_rate_limit":9,
          "write_rate_limit":10,"filter_max_conditions":11,"condition_max_size":12,
          "multivector_config":{"m":{"max_vectors":13},"n":{}},
          "sparse_config":{"s":{"max_length":14}},"max_payload_index_count":0,
          "max_resident_memory_percent":99}})",
      {});
  StrictMode expected;
  expected.max_query_limit = 1;
  expected.max_timeout_s = 2;
  expected.allows_unindexed_reads = expected.allows_unindexed_updates = false;
  expected.max_hnsw_ef = 3;
  expected.allows_exact_search = false;
  expected.max_oversampling = 1.5;
  expected.max_upsert_points = 4;
  expected.max_batch_searches = 5;
  expected.max_vector_bytes = 6;
  expected.max_payload_bytes = 7;
  expected.max_points = 8;
  expected.reads_per_minute = 9;
  expected.writes_per_minute = 10;
  expected.max_filter_conditions = 11;
  expected.max_condition_size = 12;
  expected.max_tokens = {{"m", 13}};
  expected.max_nonzeros = {{"s", 14}};
  expected.max_payload_indexes = 0;
  expected.max_resident_memory_percent = 99;
  ASSERT_TRUE(mode);
  EXPECT_EQ(*mode, expected);
}

TEST(StrictMode, OversamplingMayBeAnInteger) {
  const auto mode =
      strict_mode_of(R"({"strict_mode_config":{"enabled":true,"search_max_oversampling":2}})", {});
  ASSERT_TRUE(mode);
  EXPECT_EQ(mode->max_oversampling, 2.0);
}

TEST(StrictMode, FieldsIndexedByTenantHaveNoIndexOfTheirOwn) {
  const std::vector<FieldSchema> fields = {dense_field("a"), dense_field("b"), dense_field("c")};
  const auto mode = strict_mode_of(
      R"({"vectors":{"a":{"size":4,"hnsw_config":{"m":0,"payload_m":16}},
                     "b":{"size":4,"hnsw_config":{"m":0}},
                     "c":{"size":4,"hnsw_config":{"payload_m":16}}},
          "strict_mode_config":{"enabled":true}})",
      fields);
  ASSERT_TRUE(mode);
  EXPECT_EQ(mode->fields_indexed_by_tenant, std::vector<std::string>{"a"});
}

TEST(StrictMode, TheUnnamedFieldTakesTheCollectionsIndex) {
  const auto mode = strict_mode_of(
      R"({"vectors":{"size":4,"distance":"Dot"},"hnsw_config":{"m":0,"payload_m":8},
          "strict_mode_config":{"enabled":true}})",
      {dense_field("")});
  ASSERT_TRUE(mode);
  EXPECT_EQ(mode->fields_indexed_by_tenant, std::vector<std::string>{""});
}

TEST(StrictMode, FollowsFromAStoredConfiguration) {
  CollectionConfig config;
  config.fields = mixed_fields();
  config.client_settings = R"({"strict_mode_config":{"enabled":true,"max_query_limit":7}})";
  const auto read = parse_config(to_json(config));
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_TRUE(read->strict_mode);
  EXPECT_EQ(read->strict_mode->max_query_limit, 7U);
}

}  // namespace
}  // namespace quiver::engine::testing
