#include "app/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace quiver::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(Doctor, LevelsOfTheCpu) {
  EXPECT_EQ(judge_cpu("avx512", " avx512 avx2 generic").health, Health::kOk);
  EXPECT_EQ(judge_cpu("avx2", " avx2 generic").health, Health::kOk);
  EXPECT_THAT(judge_cpu("avx2", " avx512 avx2 generic").change, HasSubstr("QUIVER_SIMD"));
  EXPECT_EQ(judge_cpu("generic", " generic").health, Health::kWarning);
}

TEST(Doctor, HugePages) {
  EXPECT_EQ(judge_huge_pages("[always] madvise never").found, "always");
  EXPECT_EQ(judge_huge_pages("always [madvise] never").health, Health::kOk);
  EXPECT_THAT(judge_huge_pages("always madvise [never]").change, HasSubstr("echo madvise"));
  EXPECT_EQ(judge_huge_pages("").health, Health::kWarning);
  EXPECT_EQ(judge_huge_pages("]always[").health, Health::kWarning);
}

TEST(Doctor, Limits) {
  EXPECT_EQ(judge_open_files(std::numeric_limits<std::uint64_t>::max()).found, "unlimited");
  EXPECT_EQ(judge_open_files(65536).health, Health::kOk);
  EXPECT_THAT(judge_open_files(1024).change, HasSubstr("65536"));
  EXPECT_EQ(judge_map_count(65530).health, Health::kOk);
  EXPECT_THAT(judge_map_count(1000).change, HasSubstr("vm.max_map_count"));
}

TEST(Doctor, Memory) {
  EXPECT_EQ(judge_memory(8 * kGiB, {}, 0).found, "8.0 GiB, no swap");
  EXPECT_THAT(judge_memory(8 * kGiB, 2 * kGiB, 0).found, HasSubstr("2.0 GiB for this control"));
  EXPECT_THAT(judge_memory(8 * kGiB, 16 * kGiB, 0).found, Not(HasSubstr("control")));
  EXPECT_EQ(judge_memory(8 * kGiB, {}, kGiB).health, Health::kWarning);
}

TEST(Doctor, Disk) {
  EXPECT_EQ(judge_disk_space(10 * kGiB, 100 * kGiB).health, Health::kOk);
  EXPECT_EQ(judge_disk_space(9 * kGiB, 100 * kGiB).health, Health::kWarning);
  EXPECT_EQ(judge_disk_space(0, 100 * kGiB).health, Health::kBad);
  EXPECT_EQ(judge_sync(0.5, 2, false).health, Health::kOk);
  EXPECT_EQ(judge_sync(10, 20, false).health, Health::kWarning);
  EXPECT_EQ(judge_sync(100, 200, false).health, Health::kWarning);
  EXPECT_THAT(judge_sync(0.001, 0.002, false).change, HasSubstr("keeps data"));
  EXPECT_EQ(judge_sync(0.001, 0.002, true).health, Health::kBad);
}

TEST(Doctor, Clock) {
  EXPECT_EQ(judge_clock("tsc", true).health, Health::kOk);
  EXPECT_THAT(judge_clock("hpet", true).change, HasSubstr("clocksource=tsc"));
  EXPECT_THAT(judge_clock("tsc", false).change, HasSubstr("chrony"));
  EXPECT_EQ(judge_clock("", true).health, Health::kOk);
}

TEST(Doctor, PrintsALineForEach) {
  const std::vector<Diagnosis> found = {{Health::kOk, "cpu", "avx2", ""},
                                        {Health::kBad, "disk sync", "1 ms", "change \"it\""}};
  EXPECT_EQ(diagnoses_text(found),
            "ok    cpu         avx2\n"
            "bad   disk sync   1 ms: change \"it\"\n");
  EXPECT_EQ(diagnoses_json(found),
            R"({"checks":[{"health":"ok","what":"cpu","found":"avx2","change":""},)"
            R"({"health":"bad","what":"disk sync","found":"1 ms","change":"change \"it\""}]})"
            "\n");
}

TEST(Doctor, LooksAtThisMachine) {
  const auto found = diagnose({.data_dir = testing::TempDir() + "/not/there"});
  ASSERT_EQ(found.size(), 8U);
  for (const auto& one : found) {
    EXPECT_THAT(one.found, Not(IsEmpty())) << one.what;
    EXPECT_EQ(one.health == Health::kOk, one.change.empty()) << one.what;
  }
}

}  // namespace
}  // namespace quiver::app
