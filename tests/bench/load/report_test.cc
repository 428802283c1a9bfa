#include "bench/load/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace quiver::bench {
namespace {

using testing::HasSubstr;

TEST(ReportTest, PercentilesByNearestRank) {
  std::vector<double> values(1000);
  std::iota(values.rbegin(), values.rend(), 1.0);
  const Percentiles p = percentiles(values);
  EXPECT_EQ(p.p50, 500);
  EXPECT_EQ(p.p95, 950);
  EXPECT_EQ(p.p99, 990);
  EXPECT_EQ(p.p999, 999);
  EXPECT_EQ(p.max, 1000);
  EXPECT_EQ(percentiles({7}).p50, 7);
  EXPECT_EQ(percentiles({}).max, 0);
}

TEST(ReportTest, TableAndJson) {
  LoadReport report;
  report.loop.latencies_us = {100, 200, 300, 400};
  report.loop.seconds = 2;
  report.server_cpu_s = 1e-4;
  LoadOptions options;
  options.collection = "c";
  EXPECT_THAT(to_table(report, options), HasSubstr("p50 200  p95 400"));
  EXPECT_THAT(to_table(report, options), HasSubstr("25.00 us per query"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("qps":2.0,"p50_us":200.0)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("cpu_us":25.0,"background":false)"));
  EXPECT_THAT(to_json(report, options),
              HasSubstr(R"("k":10,"recall":null,"recall_p5":null,"short":null)"));
  report.recall = NetworkRecall{.mean = 0.75, .p5 = 0.5, .n_queries = 8, .n_short = 2};
  EXPECT_THAT(to_table(report, options), HasSubstr("0.7500 @10 over 8 queries"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("recall":0.75,"recall_p5":0.5,"short":2)"));
  options.rate = 50;
  report.loop.waits_us = {1, 2, 3, 4};
  EXPECT_THAT(to_table(report, options), HasSubstr("open loop at 50 arrivals/s"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("wait_p50_us":2.0)"));
  report.n_points = 1000;
  report.server_cpu_s.reset();
  report.loop.first_error = "status 500: \"x\"";
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("points_per_s":500.0)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("cpu_us":null)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("first_error":"status 500: \"x\"")"));
}

TEST(ReportTest, JsonSaysWhatWasMeasuredAndWhere) {
  LoadReport report;
  report.loop.latencies_us = {1};
  report.commit = "abc";
  report.calibration_before = {10, 3};
  report.calibration_after = {9.8, 3};
  LoadOptions options;
  options.collection = "c";
  options.params = "{\n\"hnsw_ef\":\n64}";
  EXPECT_THAT(to_json(report, options),
              HasSubstr(R"("data":"c","index":"server","params":{ "hnsw_ef": 64},"k":10)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("commit":"abc","cpu":")"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("date":"1970-01-01T00:00:00Z")"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("disturbed":false,"calibration_before":{)"));
  options.data = "arxiv";
  report.calibration_after.clock_ghz = 2.8;
  report.background = true;
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("data":"arxiv")"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("disturbed":true)"));
  EXPECT_THAT(to_table(report, options), HasSubstr("disturbed      the machine"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("background":true)"));
  report.server_cpu_s = 1e-3;
  EXPECT_THAT(to_table(report, options), HasSubstr("per query, with background work"));
}

}  // namespace
}  // namespace quiver::bench
