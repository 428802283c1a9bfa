#include "app/import/run/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/import/run/state_store.h"

namespace quiver::app {
namespace {

using testing::HasSubstr;

TEST(StateTest, RoundTripAndDamage) {
  const ImportState state{{"to x", "file \"y\""},           12, 10, true, "0123456789abcdef", 2,
                          {{3, "a row 3: \"é\""}, {4, "b"}}};
  const auto read = parse_state(to_json(state));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), to_json(state));
  for (const char* wrong : {"", "{}", "[]", R"({"quiver_import":2})", R"({"quiver_import":1})"}) {
    EXPECT_FALSE(parse_state(wrong)) << wrong;
  }
  const auto path = std::filesystem::temp_directory_path() / "quiver_state_test.import";
  std::filesystem::remove(path);
  EXPECT_FALSE(load_state(path)->has_value());
  ASSERT_TRUE(save_state(path, state));
  EXPECT_EQ(load_state(path)->value().next_row, 12U);
  std::ofstream(path) << "hello";
  const auto damaged = load_state(path);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message(), HasSubstr("--restart"));
  std::filesystem::remove(path);
  StateFile kept(path, WhenFinished::kKeep);
  StateFile removed(path, WhenFinished::kRemove);
  ImportState unfinished = state;
  unfinished.finished = false;
  ASSERT_TRUE(kept.save(state));
  EXPECT_TRUE(removed.load()->value().finished);
  ASSERT_TRUE(removed.save(unfinished));
  EXPECT_FALSE(removed.load()->value().finished);
  ASSERT_TRUE(removed.save(state));
  EXPECT_FALSE(removed.load()->has_value());
  EXPECT_TRUE(removed.save(state));
}

}  // namespace
}  // namespace quiver::app
