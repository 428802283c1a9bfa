#include "bench/common/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace quiver::bench {
namespace {

TEST(PeakMemory, SeesWhatWasFreedAgain) {
  const PeakMemory peak;
  {
    std::vector<char> memory(64 << 20);
    std::memset(memory.data(), 1, memory.size());
  }
  const auto bytes = peak.bytes();
  if (!bytes) GTEST_SKIP() << "/proc/self/clear_refs cannot be written here";
  EXPECT_GE(*bytes, std::uint64_t{60} << 20);
  EXPECT_LE(*bytes, std::uint64_t{1} << 30);
}

TEST(Calibration, IsPlausible) {
  const Calibration found = Calibrator(1 << 20).measure();
  EXPECT_GT(found.read_gb_per_s, 0);
  EXPECT_GT(found.clock_ghz, 0);
  EXPECT_FALSE(deviates(found, found));
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_GE(n_usable_cpus(), 1);
}

TEST(Calibration, ThreePercentAreLet) {
  const Calibration usual{10, 4};
  EXPECT_FALSE(deviates({10.29, 4}, usual));
  EXPECT_TRUE(deviates({10.31, 4}, usual));
  EXPECT_FALSE(deviates({10, 3.89}, usual));
  EXPECT_TRUE(deviates({10, 3.87}, usual));
  const std::vector<Calibration> all = {{9, 3}, {10, 5}, {20, 4}};
  EXPECT_EQ(typical(all).read_gb_per_s, 10);
  EXPECT_EQ(typical(all).clock_ghz, 4);
}

}  // namespace
}  // namespace quiver::bench
