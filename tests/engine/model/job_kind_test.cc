#include "engine/model/job_kind.h"

#include <gtest/gtest.h>

#include <set>

namespace quiver::engine {
namespace {

TEST(JobKind, ClientsKnowTheseNames) {
  EXPECT_EQ(to_string(JobKind::kSeal), "seal");
  EXPECT_EQ(to_string(JobKind::kMerge), "merge");
  EXPECT_EQ(to_string(JobKind::kVacuum), "vacuum");
  EXPECT_EQ(to_string(JobKind::kIndex), "index");
}

TEST(JobKind, NamesDiffer) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(JobKind::kReadLostSegment); ++kind) {
    const auto name = to_string(static_cast<JobKind>(kind));
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace
}  // namespace quiver::engine
