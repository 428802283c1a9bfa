#include "engine/model/config.h"

#include <gtest/gtest.h>

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
  const auto read = parse_config(to_json(config));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(*read, config);
}

TEST(CollectionConfig, DamagedIsRefused) {
  CollectionConfig config;
  config.fields = mixed_fields();
  const std::string good = to_json(config);
  for (std::size_t n = 0; n < good.size(); n += 7) EXPECT_FALSE(parse_config(good.substr(0, n)));
}

}  // namespace
}  // namespace quiver::engine::testing
