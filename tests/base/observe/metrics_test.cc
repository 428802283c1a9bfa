#include "base/observe/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace quiver {
namespace {

using testing::HasSubstr;

TEST(Metrics, RendersAllTypes) {
  MetricsRegistry registry;
  registry.counter("requests_total", "Requests.", {{"code", "200"}, {"path", "/a\"b\\c\nd"}})
      .add(3);
  registry.gauge("depth", "Depth of\nthe \\ queue.").set(-1.5);
  auto& seconds = registry.histogram("seconds", "Time.", {{"op", "x"}}, {0.1, 1});
  for (const double value : {0.05, 0.1, 0.5, 7.0}) seconds.observe(value);
  EXPECT_EQ(registry.render(),
            "# HELP depth Depth of\\nthe \\\\ queue.\n"
            "# TYPE depth gauge\n"
            "depth -1.5\n"
            "# HELP requests_total Requests.\n"
            "# TYPE requests_total counter\n"
            "requests_total{code=\"200\",path=\"/a\\\"b\\\\c\\nd\"} 3\n"
            "# HELP seconds Time.\n"
            "# TYPE seconds histogram\n"
            "seconds_bucket{op=\"x\",le=\"0.1\"} 2\n"
            "seconds_bucket{op=\"x\",le=\"1\"} 3\n"
            "seconds_bucket{op=\"x\",le=\"+Inf\"} 4\n"
            "seconds_sum{op=\"x\"} 7.65\n"
            "seconds_count{op=\"x\"} 4\n");
}

TEST(Metrics, SameNameAndLabelsAreTheSameMetric) {
  MetricsRegistry registry;
  auto& first = registry.counter("n", "N.", {{"a", "1"}});
  for (int i = 0; i < 100; ++i) registry.counter("n", "N.", {{"a", std::to_string(i + 2)}});
  EXPECT_EQ(&first, &registry.counter("n", "N.", {{"a", "1"}}));
}

TEST(Metrics, CollectorsAreAskedAtEveryRender) {
  MetricsRegistry registry;
  registry.gauge("points", "Points.", {{"collection", "a"}}).set(1);
  double n_points = 5;
  registry.add_collector([&](MetricsText& text) {
    text.sample("points", "Points.", MetricType::kGauge, {{"collection", "b"}}, n_points);
  });
  EXPECT_THAT(registry.render(),
              HasSubstr("points{collection=\"a\"} 1\npoints{collection=\"b\"} 5\n"));
  n_points = 6;
  EXPECT_THAT(registry.render(), HasSubstr("points{collection=\"b\"} 6\n"));
}

TEST(Metrics, CountsFromManyThreads) {
  MetricsRegistry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      auto& counter = registry.counter("n", "N.");
      auto& histogram = registry.histogram("h", "H.");
      for (int i = 0; i < 1000; ++i) {
        counter.add();
        histogram.observe(1);
        if (i % 250 == 0) (void)registry.render();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(registry.render(), HasSubstr("\nn 4000\n"));
  EXPECT_THAT(registry.render(), HasSubstr("\nh_sum 4000\n"));
}

TEST(Metrics, ProcessMetricsAreThere) {
  MetricsRegistry registry;
  registry.add_collector(collect_process_metrics);
  const std::string text = registry.render();
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
        "process_max_fds", "process_threads", "process_start_time_seconds"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name + " ")) << text;
  }
  EXPECT_THAT(text, testing::Not(HasSubstr("process_resident_memory_bytes 0\n")));
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter\n"));
}

}  // namespace
}  // namespace quiver
