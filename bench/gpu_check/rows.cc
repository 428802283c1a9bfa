#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "bench/gpu_check/steps.h"

namespace quiver::bench {

std::size_t check_rows(gpu::Devices& devices) {
  std::mt19937 random(kSeed);
  std::size_t n = 0;
  std::size_t different = 0;
  for (const std::size_t dim : {1, 3, 31, 64, 65, 384, 768}) {
    for (const std::size_t n_rows : {1, 15, 127, 128, 129, 2049}) {
      for (const auto metric : {Metric::kDot, Metric::kEuclid}) {
        for (const std::size_t n_queries : {1, 63, 65}) {
          const auto values = random_values(std::max(n_rows, n_queries), dim, random);
          const auto dtype = n % 2 == 0 ? DType::kF32 : DType::kF16;
          const auto column = column_of(values, n_rows, dtype, metric);
          const auto queries = random_values(n_queries, dim, random);
          different += n_different_twice(exact_batch(column, queries, n_queries, 10), devices);
          ++n;
        }
      }
    }
  }
  print_equality("equality", n, n_device_queries(devices), different);
  return different;
}

std::size_t time_rows(gpu::Devices& devices, const Values& rows, const Values& queries,
                      std::size_t n_queries, std::size_t k) {
  const auto column = column_of(rows, rows.n(), DType::kF32, Metric::kDot);
  const Batch batch = exact_batch(column, queries, n_queries, k);
  const auto cpu = batch.ask(nullptr);
  const Timed timed = time_rounds(batch, devices, cpu);
  fmt::print(
      R"({{"step": "dense", "rows": {}, "dim": {}, "queries": {}, "k": {}, "cpu_ms": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "device_queries": {}, "scored_exactly": {:.1f}, "different": {}}})"
      "\n",
      rows.n(), rows.dim, n_queries, k, cpu.ms, timed.median(), timed.spread(),
      timed.n_device_queries,
      static_cast<double>(timed.work.n_rows_scored) / static_cast<double>(n_queries),
      timed.different);
  std::fflush(stdout);
  return timed.different;
}

std::size_t count_scored(gpu::Devices& devices, const Values& rows, const Values& queries,
                         std::size_t k) {
  std::vector<double> scored;
  std::size_t different = 0;
  const auto column = column_of(rows, rows.n(), DType::kF32, Metric::kDot);
  Batch batch = exact_batch(column, queries, 1, k);
  static_cast<void>(batch.ask(&devices));
  devices.wait_for_loading();
  for (std::size_t i = 0; i < std::min<std::size_t>(queries.n(), 200); ++i) {
    batch.queries.assign(1, index::PreparedQuery::dense(column.schema, queries.row(i)));
    const auto answer = batch.ask(&devices);
    scored.push_back(static_cast<double>(answer.work.n_rows_scored));
    different += n_different(answer, batch.ask(nullptr));
  }
  fmt::print(
      R"({{"step": "scored", "rows": {}, "dim": {}, "queries": {}, "k": {}, "median": {}, "most": {}, "different": {}}})"
      "\n",
      rows.n(), rows.dim, scored.size(), k, percentile(scored, 0.5), percentile(scored, 1),
      different);
  std::fflush(stdout);
  return different;
}

}  // namespace quiver::bench
