#include "app/serve/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace quiver::app {
namespace {

TEST(OpenFiles, HalfAreKeptForStorage) {
  EXPECT_EQ(connections_within(1 << 20, 10000), 10000U);
  EXPECT_EQ(connections_within(RLIM_INFINITY, 1 << 20), 1U << 20);
  EXPECT_EQ(connections_within(4096, 10000), 2048U);
  EXPECT_EQ(connections_within(4096, 100), 100U);
}

TEST(OpenFiles, OfFewStorageTakesMore) {
  EXPECT_EQ(connections_within(256, 10000), 64U);
  EXPECT_EQ(connections_within(300, 10000), 108U);
}

TEST(OpenFiles, SomebodyIsAlwaysAnswered) {
  for (const std::uint64_t n : {0, 64, 192, 200}) EXPECT_EQ(connections_within(n, 10000), 16U);
  EXPECT_EQ(connections_within(0, 3), 3U);
}

TEST(OpenFiles, TheLimitIsRaised) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = low.rlim_cur / 2;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_open_files(), limit.rlim_max);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(low.rlim_cur, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace quiver::app
