#include <gtest/gtest.h>

#include <vector>

#include "index/progress.h"

namespace quiver::index::testing {
namespace {

TEST(PartOf, ReportsItsShareOfTheRows) {
  const Cancel cancel;
  std::vector<std::uint64_t> reports;
  const BuildContext context{nullptr, cancel, 7, [&](std::uint64_t n) { reports.push_back(n); }};
  const auto half = part_of(context, 1000, 0.5, 1, 10);
  EXPECT_EQ(half.seed, 7U);
  half.progress(0);
  half.progress(5);
  half.progress(10);
  part_of(half, 1000, 0, 0.5).progress(1000);
  EXPECT_EQ(reports, (std::vector<std::uint64_t>{500, 750, 1000, 25500}));
  EXPECT_FALSE(quiet(context).progress);
  EXPECT_FALSE(part_of(quiet(context), 1000, 0, 1).progress);
}

TEST(BuildProgress, IsReportedInRows) {
  const Cancel cancel;
  std::uint64_t reported = 0;
  const BuildContext context{nullptr, cancel, 0, [&](std::uint64_t n) { reported = n; }};
  BuildProgress progress(context, 100, 50);
  progress.add(20);
  progress.add(5);
  progress.report();
  EXPECT_EQ(reported, 50U);
  BuildProgress nothing(context, 100, 0);
  nothing.report();
  EXPECT_EQ(reported, 0U);
}

}  // namespace
}  // namespace quiver::index::testing
