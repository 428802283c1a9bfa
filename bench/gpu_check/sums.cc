#include <fmt/format.h>

#include <cstdio>

#include "bench/gpu_check/steps.h"

namespace quiver::bench {
namespace {

/// Exact, or by truncated lists.
Batch sum_batch(const std::shared_ptr<const index::Searcher>& searcher, std::uint32_t n_rows,
                const SparseRows& queries, std::size_t n_queries, bool is_exact) {
  Batch batch;
  batch.searcher = searcher;
  batch.n_rows = n_rows;
  batch.params = *index::find_index_type("seismic")->parse_search(
      {{"method", std::string(is_exact ? "exact" : "scan")}, {"exact_below", std::int64_t{0}}});
  for (std::size_t i = 0; i < n_queries; ++i) {
    batch.queries.push_back(query_of(queries, i % queries.n_rows));
  }
  return batch;
}

std::size_t time_batch(gpu::Devices& devices, const Batch& batch, bool is_exact) {
  const Answer cpu = batch.ask(nullptr);
  const Timed timed = time_rounds(batch, devices, cpu);
  const auto n = static_cast<double>(batch.queries.size());
  fmt::print(
      R"({{"step": "sums", "documents": {}, "queries": {}, "k": {}, "exact": {}, "cpu_ms": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "jobs_ms": {:.3f}, "device_queries": {}, "postings_a_query": {:.0f}, "scored_exactly": {:.1f}, "different": {}}})"
      "\n",
      batch.n_rows, batch.queries.size(), batch.k, is_exact, cpu.ms, timed.median(), timed.spread(),
      timed.busy_ms, timed.n_device_queries, static_cast<double>(cpu.work.n_codes_scored) / n,
      static_cast<double>(timed.work.n_rows_scored) / n, timed.different);
  std::fflush(stdout);
  return timed.different;
}

}  // namespace

std::size_t check_sums(gpu::Devices& devices) {
  std::mt19937 random(kSeed);
  std::size_t n = 0;
  std::size_t different = 0;
  const std::uint64_t before = n_device_queries(devices);
  for (const std::size_t n_rows : {100, 16'384, 16'385, 40'000}) {
    const auto column = column_of(generated(n_rows, 40, random), n_rows);
    const auto lists = index_over(column, "seismic", {});
    for (const std::size_t n_terms : {1, 8, 33, 70}) {
      for (const std::size_t n_queries : {1, 6, 65}) {
        const auto queries = generated(n_queries, n_terms, random);
        for (const bool is_exact : {false, true}) {
          different += n_different_twice(
              sum_batch(lists, column.n_rows, queries, n_queries, is_exact), devices);
          ++n;
        }
      }
    }
  }
  print_equality("sums_equality", n, n_device_queries(devices) - before, different);
  return different;
}

std::size_t time_sums(gpu::Devices& devices, const index::FieldColumn& column,
                      const SparseRows& queries) {
  const auto lists = index_over(column, "seismic", {{"blocks_from", std::int64_t{1'000'000'000}}});
  Executor executor(0, "compute");
  std::size_t different = 0;
  for (const bool is_exact : {false, true}) {
    for (const std::size_t k : {10, 100}) {
      for (const std::size_t n : {64, 256}) {
        Batch batch = sum_batch(lists, column.n_rows, queries, n, is_exact);
        batch.k = k;
        batch.executor = &executor;
        different += time_batch(devices, batch, is_exact);
      }
    }
  }
  return different;
}

std::size_t time_sums(gpu::Devices& devices, std::size_t n_documents) {
  std::mt19937 random(kSeed);
  const auto column = column_of(generated(n_documents, 120, random), n_documents);
  return time_sums(devices, column, generated(256, 26, random));
}

}  // namespace quiver::bench
