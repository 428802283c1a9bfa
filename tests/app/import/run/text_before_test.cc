#include "app/import/run/text_before.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/import/run/identity.h"

namespace quiver::app {
namespace {

class TextBeforeTest : public testing::Test {
 protected:
  TextBeforeTest() {
    write("{\"a\":1}\n{\"a\":2}\n{\"a\":\n");
    options_.payload = path_;
    plan_ = *make_plan(options_);
  }
  ~TextBeforeTest() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / "quiver_text_before_test.jsonl";
  ImportOptions options_;
  ImportPlan plan_;
};

TEST_F(TextBeforeTest, LaterLinesDoNotChangeTheDigest) {
  const auto before = digest_of_texts(plan_, 2);
  ASSERT_TRUE(before) << before.error().message();
  write("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
  EXPECT_EQ(digest_of_texts(plan_, 2).value(), *before);
  write("{\"a\":1}\n{\"a\":9}\n{\"a\":3}\n");
  EXPECT_NE(digest_of_texts(plan_, 2).value(), *before);
  EXPECT_EQ(digest_of_texts(plan_, 4).error().code(), Code::kOutOfRange);
}

TEST_F(TextBeforeTest, OnlySizesAndTimesOfTextsMayDiffer) {
  const auto before = *import_identity(options_, plan_);
  write("{\"a\":1}\n");
  EXPECT_TRUE(differ_in_texts_only(before, *import_identity(options_, plan_), plan_));
  options_.collection = "other";
  EXPECT_FALSE(differ_in_texts_only(before, *import_identity(options_, plan_), plan_));
}

}  // namespace
}  // namespace quiver::app
