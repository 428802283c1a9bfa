#include "service/api/strict/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace quiver::service::api::strict {
namespace {

using ::testing::HasSubstr;

class QuotaTest : public ::testing::Test {
 protected:
  QuotaTest() { std::filesystem::create_directories(path_); }
  ~QuotaTest() override { std::filesystem::remove_all(path_); }
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("quota-test-" + std::to_string(getpid())))
          .string();
};

TEST_F(QuotaTest, IsKeptAndReadBack) {
  QuotaConfig config;
  config.enabled = true;
  config.max_disk_usage_percent = 90;
  config.release_margin_percent = 0;
  {
    Quota quota(path_);
    EXPECT_EQ(quota.config(), QuotaConfig());
    ASSERT_TRUE(quota.set(config));
  }
  EXPECT_EQ(Quota(path_).config(), config);
}

TEST_F(QuotaTest, ADamagedFileLimitsNothing) {
  std::ofstream(path_ + "/quotas.json") << "{";
  Quota quota(path_);
  EXPECT_EQ(quota.config(), QuotaConfig());
  EXPECT_TRUE(quota.check_growth({}));
}

TEST_F(QuotaTest, RefusesGrowthFromTheLimitOn) {
  Quota quota(path_);
  EXPECT_TRUE(quota.check_growth({}));
  const auto used = quota.usage().disk_usage_percent;
  ASSERT_TRUE(used);
  if (*used < 2 || *used > 98) GTEST_SKIP() << "the disk is " << *used << "% full";
  QuotaConfig config;
  config.max_disk_usage_percent = *used - 1;
  ASSERT_TRUE(quota.set(config));
  EXPECT_TRUE(quota.check_growth({})) << "it is not enabled";
  config.enabled = true;
  ASSERT_TRUE(quota.set(config));
  const auto refused = quota.check_growth({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().subject(), Subject::kDisk);
  EXPECT_THAT(refused.error().message(), HasSubstr("Disk usage is at "));
  EXPECT_TRUE(quota.exceeded().second);
  config.max_disk_usage_percent = 100;
  ASSERT_TRUE(quota.set(config));
  EXPECT_TRUE(quota.check_growth({}));
  EXPECT_FALSE(quota.exceeded().second);
}

TEST(QuotaGate, OpensBelowTheMargin) {
  Gate gate;
  EXPECT_FALSE(gate.is_closed_by(79, 80, 5));
  EXPECT_TRUE(gate.is_closed_by(80, 80, 5));
  EXPECT_TRUE(gate.is_closed_by(75, 80, 5));
  EXPECT_FALSE(gate.is_closed_by(74, 80, 5));
  EXPECT_FALSE(gate.is_closed_by(79, 80, 5));
}

TEST(QuotaConfig, IsCheckedWhenParsed) {
  const auto config =
      parse_quota(R"({"enabled":true,"max_resident_memory_percent":100,"other":null})");
  ASSERT_TRUE(config);
  EXPECT_EQ(to_json(*config), R"({"enabled":true,"max_resident_memory_percent":100})");
  for (const auto* bad :
       {"3", "{", R"({"enabled":1})", R"({"max_disk_usage_percent":0})",
        R"({"max_disk_usage_percent":101})", R"({"release_margin_percent":-1})"}) {
    EXPECT_FALSE(parse_quota(bad)) << bad;
  }
}

}  // namespace
}  // namespace quiver::service::api::strict
