#include "app/common/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

TEST(VersionTest, OneLineWithVersionCommitAndInstructionLevels) {
  EXPECT_THAT(version_line(), testing::StartsWith(std::string("quiver ") + kVersion + " (git "));
  EXPECT_THAT(version_line(), testing::HasSubstr("generic"));
  const std::string commit = kCommit;
  EXPECT_TRUE(commit.empty() || commit.size() == 40) << commit;
}

}  // namespace
}  // namespace quiver::app
