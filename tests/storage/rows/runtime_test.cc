#include "storage/rows/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace quiver::storage {
namespace {

TEST(Runtime, RefusesOptionsOutOfRangeByName) {
  struct Case {
    const char* name;
    std::function<void(RuntimeOptions&)> set;
  };
  const Case cases[] = {
      {"block_cache_bytes", [](auto& options) { options.block_cache_bytes = 0; }},
      {"write_buffer_bytes", [](auto& options) { options.write_buffer_bytes = 10; }},
      {"shard_write_buffer_bytes", [](auto& options) { options.shard_write_buffer_bytes = 1; }},
      {"max_wal_bytes", [](auto& options) { options.max_wal_bytes = 1; }},
      {"background_threads", [](auto& options) { options.background_threads = 0; }},
      {"background_threads", [](auto& options) { options.background_threads = 65; }},
      {"max_open_files", [](auto& options) { options.max_open_files = 31; }},
  };
  for (const Case& test : cases) {
    RuntimeOptions options;
    test.set(options);
    const auto runtime = Runtime::create(options);
    ASSERT_FALSE(runtime) << test.name;
    EXPECT_EQ(runtime.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(runtime.error().message(), ::testing::HasSubstr(test.name));
  }
  EXPECT_TRUE(Runtime::create({}));
}

}  // namespace
}  // namespace quiver::storage
