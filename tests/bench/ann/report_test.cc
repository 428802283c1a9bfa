#include "bench/ann/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quiver::bench {
namespace {

using testing::HasSubstr;

TEST(Disturbed, OnlyThePointsWhoseMachineWasAnother) {
  std::vector<MeasuredPoint> points(5);
  for (auto& point : points) {
    point.before = point.after = {10, 3};
    point.cpu_share = 1;
  }
  points[1].after.read_gb_per_s = 9.6;
  points[2].before.clock_ghz = 3.1;
  points[3].cpu_share = 0.96;
  points[4].after = {9.8, 2.95};  // within 3 %
  mark_disturbed(points);
  std::vector<bool> disturbed;
  for (const auto& point : points) disturbed.push_back(point.disturbed);
  EXPECT_THAT(disturbed, testing::ElementsAre(false, true, true, true, false));
}

TEST(Targets, FastestPointThatReachesEach) {
  std::vector<MeasuredPoint> points(3);
  points[0].recall.mean = 0.92, points[0].qps = {900}, points[0].params = {{"x", std::int64_t{1}}};
  points[1].recall.mean = 0.96, points[1].qps = {950}, points[1].params = {{"x", std::int64_t{2}}};
  points[2].recall.mean = 0.99, points[2].qps = {100}, points[2].params = {{"x", std::int64_t{3}}};
  const std::vector<double> targets = {0.9, 0.98, 0.995};
  std::istringstream lines(targets_table(points, targets));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr("x=2"));
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr("x=3"));
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr("not reached"));
  EXPECT_EQ(targets_table(points, {}), "");
}

}  // namespace
}  // namespace quiver::bench
