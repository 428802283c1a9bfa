#include "base/observe/log.h"

#include <gtest/gtest.h>

#include <regex>

namespace quiver {
namespace {

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { set_up_log({}); }
};

TEST_F(LogTest, WritesText) {
  set_up_log({.level = LogLevel::kInfo, .format = LogFormat::kText});
  testing::internal::CaptureStderr();
  log_info("opened `{}` in {:.1f} s", "c\nd", 1.25);
  log_debug("not seen {}", 1);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_match(
      text, std::regex(R"(\d{4}-\d\d-\d\dT[\d:.]+Z info    \[\d+\] opened `c\\nd` in 1\.2 s\n)")))
      << text;
}

TEST_F(LogTest, WritesJson) {
  set_up_log({.level = LogLevel::kDebug, .format = LogFormat::kJson});
  testing::internal::CaptureStderr();
  log_warning("a \"quoted\" \\ {} and {{braces}}", '\x01');
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("{\"time\":\"")) << text;
  EXPECT_NE(text.find("\"level\":\"warning\""), std::string::npos) << text;
  EXPECT_NE(text.find(R"("message":"a \"quoted\" \\ \u0001 and {braces}"})"), std::string::npos)
      << text;
}

TEST_F(LogTest, OffWritesNothing) {
  set_up_log({.level = LogLevel::kOff});
  testing::internal::CaptureStderr();
  log_error("not seen");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogTest, ParsesNames) {
  EXPECT_EQ(*parse_log_level("warning"), LogLevel::kWarning);
  EXPECT_EQ(*parse_log_format("json"), LogFormat::kJson);
  EXPECT_EQ(parse_log_level("loud").error().message(),
            "unknown log level `loud`: wanted one of debug, info, warning, error, off");
}

}  // namespace
}  // namespace quiver
