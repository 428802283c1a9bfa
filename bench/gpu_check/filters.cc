#include <fmt/format.h>

#include <cstdio>

#include "bench/gpu_check/steps.h"

namespace quiver::bench {
namespace {

/// Batches of the same queries under several numbers of filters, wide and narrow.
struct Checked {
  gpu::Devices& devices;
  std::mt19937 random{kSeed};
  std::size_t n = 0;
  std::size_t different = 0;

  void check(Batch batch) {
    for (const std::size_t n_filters : {1, 2, 7, 64}) {
      for (const double allows : {0.9, 0.3, 0.02}) {
        batch.filter(n_filters, allows, random);
        different += n_different_twice(batch, devices);
        ++n;
      }
    }
  }
};

}  // namespace

std::size_t check_filters(gpu::Devices& devices) {
  Checked checked{devices};
  std::mt19937 random(kSeed + 1);
  const std::uint64_t before = n_device_queries(devices);
  for (const std::size_t dim : {3, 64, 768}) {
    for (const std::size_t n_rows : {63, 129, 2049}) {
      const auto column =
          column_of(random_values(n_rows, dim, random), n_rows, DType::kF32, Metric::kDot);
      const auto queries = random_values(65, dim, random);
      for (const std::size_t n_queries : {3, 65}) {
        checked.check(exact_batch(column, queries, n_queries, 10));
      }
    }
  }
  for (const std::size_t n_documents : {63, 700}) {
    const auto column = documents_of(n_documents, 20, 96, random);
    checked.check(exact_documents(column, random_values(12 * 9, 96, random), 12, 9, 10));
  }
  const auto sparse = column_of(generated(20'000, 40, random), 20'000);
  const auto queries = generated(65, 8, random);
  Batch batch;
  batch.searcher = index_over(sparse, "seismic", {});
  batch.n_rows = sparse.n_rows;
  batch.prefer = index::Prefer::kExact;
  for (std::size_t i = 0; i < queries.n_rows; ++i) batch.queries.push_back(query_of(queries, i));
  checked.check(batch);
  print_equality("filters_equality", checked.n, n_device_queries(devices) - before,
                 checked.different);
  return checked.different;
}

std::size_t time_filters(gpu::Devices& devices, const Values& rows, const Values& queries) {
  constexpr std::size_t kQueries = 256;
  std::mt19937 random(kSeed);
  const auto column = column_of(rows, rows.n(), DType::kF32, Metric::kDot);
  Executor executor(0, "compute");
  Batch batch = exact_batch(column, queries, kQueries, 10);
  batch.executor = &executor;
  std::size_t different = 0;
  for (const std::size_t n_filters : {std::size_t{1}, std::size_t{64}, kQueries}) {
    batch.filter(n_filters, 0.5, random);
    const auto cpu = batch.ask(nullptr);
    const Timed timed = time_rounds(batch, devices, cpu);
    different += timed.different;
    fmt::print(
        R"({{"step": "filters", "rows": {}, "dim": {}, "queries": {}, "k": 10, "filters": {}, "allowed": 0.5, "cpu_ms": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "jobs_ms": {:.3f}, "jobs": {}, "device_queries": {}, "different": {}}})"
        "\n",
        rows.n(), rows.dim, kQueries, n_filters, cpu.ms, timed.median(), timed.spread(),
        timed.busy_ms, timed.n_jobs, timed.n_device_queries, timed.different);
    std::fflush(stdout);
  }
  return different;
}

}  // namespace quiver::bench
