#include "tests/gpu/fibers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace quiver::testing {
namespace {

TEST(Fibers, RunAsFarAsTheyNeedNotWaitForOthers) {
  static Fibers fibers;  // a fiber that has ended looks at it once more
  for (const unsigned n : {1U, 40U, 3U}) {
    std::atomic<unsigned> n_arrived = 0;
    std::vector<unsigned> n_seen(n);
    fibers.run(n, [&](unsigned i) {
      ++n_arrived;
      fibers.wait_until([&] { return n_arrived == n; });
      n_seen[i] = n_arrived + fibers.index();
    });
    for (unsigned i = 0; i < n; ++i) EXPECT_EQ(n_seen[i], n + i);
  }
}

TEST(FibersDeathTest, EndTheProcessIfAllWait) {
  static Fibers fibers;  // a fiber that has ended looks at it once more
  EXPECT_DEATH(fibers.run(2, [&](unsigned) { fibers.wait_until([] { return false; }); }),
               "all fibers wait for each other");
}

}  // namespace
}  // namespace quiver::testing
