#include <fmt/format.h>

#include <cstdio>

#include "bench/gpu_check/steps.h"

namespace quiver::bench {

std::size_t check_lists(gpu::Devices& devices) {
  std::mt19937 random(kSeed);
  std::size_t n = 0;
  std::size_t different = 0;
  const std::uint64_t before = n_device_queries(devices);
  for (const std::size_t dim : {32, 96, 384, 1536}) {
    for (const std::int64_t bits : {1, 2, 3, 4, 8}) {
      for (const auto metric : {Metric::kDot, Metric::kEuclid}) {
        const std::size_t n_rows = 3000;
        const auto values = clumps(n_rows + 300, dim, 30, random);
        const auto column = column_of(values, n_rows, DType::kF32, metric);
        const Values queries{
            dim, {values.values.begin() + static_cast<long>(n_rows * dim), values.values.end()}};
        Batch batch = exact_batch(column, queries, 0, 10);
        batch.prefer = index::Prefer::kIndexed;
        batch.searcher = index_over(column, "ivf",
                                    {{"graph", std::string("never")},
                                     {"bits", bits},
                                     {"reduce", std::string("none")},
                                     {"refine_bits", std::int64_t{n % 2 == 0 ? 8 : 4}}});
        for (const std::size_t n_queries : {2, 65, 300}) {
          batch.queries = exact_batch(column, queries, n_queries, 10).queries;
          different += n_different_twice(batch, devices);
          ++n;
        }
      }
    }
  }
  print_equality("lists_equality", n, n_device_queries(devices) - before, different);
  return different;
}

std::size_t time_lists(gpu::Devices& devices, std::size_t n_rows) {
  constexpr std::size_t kDim = 768;
  std::mt19937 random(kSeed);
  const auto rows = clumps(n_rows, kDim, n_rows / 1000 + 1, random);
  const auto column = column_of(rows, n_rows, DType::kF32, Metric::kDot);
  const auto lists = index_over(column, "ivf", {{"graph", std::string("never")}});
  Executor executor(0, "compute");
  std::size_t different = 0;
  for (const std::size_t n_queries : {64, 256, 4096}) {
    Values queries{kDim, {}};
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < n_queries; ++i) {  // near rows
      for (const float value : rows.row(random() % n_rows)) {
        queries.values.push_back(value + 0.5F * normal(random));
      }
    }
    Batch batch = exact_batch(column, queries, n_queries, 10);
    batch.searcher = lists;
    batch.prefer = index::Prefer::kIndexed;
    batch.executor = &executor;
    const auto cpu = batch.ask(nullptr);
    const Timed timed = time_rounds(batch, devices, cpu);
    const auto n = static_cast<double>(n_queries);
    different += timed.different;
    fmt::print(
        R"({{"step": "lists", "rows": {}, "dim": {}, "queries": {}, "k": 10, "cpu_ms": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "jobs_ms": {:.3f}, "device_queries": {}, "codes_a_query": {:.0f}, "different": {}}})"
        "\n",
        n_rows, kDim, n_queries, cpu.ms, timed.median(), timed.spread(), timed.busy_ms,
        timed.n_device_queries, static_cast<double>(timed.work.n_codes_scored) / n,
        timed.different);
    std::fflush(stdout);
  }
  return different;
}

}  // namespace quiver::bench
