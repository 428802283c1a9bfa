#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "bench/micro/gpu_check.h"
#include "dataset/vectors.h"

namespace quiver::bench {
namespace {

const FieldSchema kSparse = {"",          FieldKind::kSparse, 0,
                             DType::kF32, Metric::kDot,       SparseModifier::kNone};

/// Rows as the dataset readers give them.
using SparseRows = dataset::VectorBatch;

/// Documents or queries of terms by Zipf's law, as learned-sparse encoders give them.
SparseRows generated(std::size_t n, std::size_t n_terms, std::mt19937& random) {
  constexpr double kTerms = 30'000;
  std::uniform_real_distribution<double> uniform;
  std::exponential_distribution<float> weight(1.5F);
  SparseRows rows;
  rows.n_rows = n;
  rows.offsets = {0};
  for (std::size_t i = 0; i < n; ++i) {
    std::set<std::uint32_t> terms;
    while (terms.size() < n_terms) {
      terms.insert(static_cast<std::uint32_t>(std::pow(kTerms, uniform(random))) - 1);
    }
    for (const std::uint32_t term : terms) {
      rows.indices.push_back(term);
      rows.values.push_back(weight(random));
    }
    rows.offsets.push_back(rows.indices.size());
  }
  return rows;
}

index::FieldColumn column_of(const SparseRows& rows, std::size_t n_rows) {
  const std::size_t n_values = rows.offsets[n_rows];
  const auto first = [](const auto& from, std::size_t n) {
    return std::vector(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n));
  };
  index::FieldColumn column;
  column.schema = kSparse;
  column.n_rows = column.n_present = static_cast<std::uint32_t>(n_rows);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_rows, 1));
  index::SparseColumn values;
  values.offsets = SharedSpan<std::uint64_t>::of(first(rows.offsets, n_rows + 1));
  values.indices = SharedSpan<std::uint32_t>::of(first(rows.indices, n_values));
  values.values = SharedSpan<float>::of(first(rows.values, n_values));
  column.values = std::move(values);
  return column;
}

index::PreparedQuery query_of(const SparseRows& rows, std::size_t i) {
  const std::size_t first = rows.offsets[i];
  const std::size_t n = rows.offsets[i + 1] - first;
  return index::PreparedQuery::sparse(kSparse, {std::span(rows.indices).subspan(first, n),
                                                std::span(rows.values).subspan(first, n)});
}

struct SumAnswer {
  std::vector<std::vector<index::Hit>> hits;
  index::WorkCounters work;
  double ms = 0;
};

/// Queries over one index, exact or by the way that the index takes.
struct SumSearch {
  const index::Searcher& searcher;
  std::uint32_t n_rows = 0;
  std::vector<index::PreparedQuery> queries;
  std::size_t k = 10;
  bool is_exact = false;
  Executor* executor = nullptr;

  [[nodiscard]] SumAnswer ask(gpu::Devices* devices) const {
    std::vector<index::TopK> heaps(queries.size(), index::TopK(k));
    std::vector<const index::PreparedQuery*> asked;
    std::vector<index::TopK*> results;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      asked.push_back(&queries[i]);
      results.push_back(&heaps[i]);
    }
    const auto& type = *index::find_index_type("seismic");
    const auto params = type.parse_search(
        {{"method", std::string(is_exact ? "exact" : "scan")}, {"exact_below", std::int64_t{0}}});
    const Cancel cancel;
    SumAnswer answer;
    const auto begin = std::chrono::steady_clock::now();
    const auto done = searcher.search_batch(asked, *params, index::RowFilter::all(n_rows),
                                            {cancel, executor, index::Prefer::kAny, devices},
                                            results, answer.work);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (!done) std::abort();  // nothing cancels it
    answer.ms = took.count();
    for (auto& heap : heaps) answer.hits.push_back(heap.take_sorted());
    return answer;
  }
};

std::size_t n_different(const SumAnswer& a, const SumAnswer& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.hits.size(); ++i) {
    const bool is_same =
        a.hits[i].size() == b.hits[i].size() &&
        std::memcmp(a.hits[i].data(), b.hits[i].data(), a.hits[i].size() * sizeof(index::Hit)) == 0;
    n += is_same ? 0 : 1;
  }
  return n;
}

std::size_t time_search(gpu::Devices& devices, const SumSearch& search) {
  const SumAnswer cpu = search.ask(nullptr);
  static_cast<void>(search.ask(&devices));
  devices.wait_for_loading();
  const double busy_before = devices.report().devices[0].busy_s;
  const std::uint64_t before = n_device_queries(devices);
  std::vector<double> times;
  std::size_t different = 0;
  std::uint64_t n_scored = 0;
  for (int i = 0; i < kRounds; ++i) {
    const SumAnswer answer = search.ask(&devices);
    different += n_different(answer, cpu);
    times.push_back(answer.ms);
    n_scored = answer.work.n_rows_scored;
  }
  const auto n = static_cast<double>(search.queries.size());
  const double busy_s = devices.report().devices[0].busy_s - busy_before;
  fmt::print(
      R"({{"step": "sums", "documents": {}, "queries": {}, "k": {}, "exact": {}, "cpu_ms": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "jobs_ms": {:.3f}, "device_queries": {}, "postings_a_query": {:.0f}, "scored_exactly": {:.1f}, "different": {}}})"
      "\n",
      search.n_rows, search.queries.size(), search.k, search.is_exact, cpu.ms,
      percentile(times, 0.5), percentile(times, 0.9) - percentile(times, 0.1),
      busy_s * 1e3 / kRounds, n_device_queries(devices) - before,
      static_cast<double>(cpu.work.n_codes_scored) / n, static_cast<double>(n_scored) / n,
      different);
  std::fflush(stdout);
  return different;
}

std::size_t time_both(gpu::Devices& devices, const index::FieldColumn& column,
                      const SparseRows& queries) {
  const auto lists = index_over(column, "seismic", {{"blocks_from", std::int64_t{1'000'000'000}}});
  Executor executor(0, "compute");
  std::size_t different = 0;
  for (const bool is_exact : {false, true}) {
    for (const std::size_t k : {10, 100}) {
      for (const std::size_t n : {64, 256}) {
        SumSearch search{*lists, column.n_rows, {}, k, is_exact, &executor};
        for (std::size_t i = 0; i < n; ++i) {
          search.queries.push_back(query_of(queries, i % queries.n_rows));
        }
        different += time_search(devices, search);
      }
    }
  }
  return different;
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
          SumSearch search{*lists, column.n_rows, {}, 10, is_exact, nullptr};
          for (std::size_t i = 0; i < n_queries; ++i)
            search.queries.push_back(query_of(queries, i));
          static_cast<void>(search.ask(&devices));
          devices.wait_for_loading();
          const SumAnswer wanted = search.ask(nullptr);
          for (int i = 0; i < 2; ++i) different += n_different(search.ask(&devices), wanted);
          ++n;
        }
      }
    }
  }
  print_equality("sums_equality", n, n_device_queries(devices) - before, different);
  return different;
}

std::size_t time_sums(gpu::Devices& devices, std::size_t n_documents) {
  std::mt19937 random(kSeed);
  const auto column = column_of(generated(n_documents, 120, random), n_documents);
  return time_both(devices, column, generated(256, 26, random));
}

Result<std::size_t> time_sums(gpu::Devices& devices, std::size_t n_documents,
                              const std::string& rows, const std::string& queries) {
  QV_TRY(const auto documents, dataset::load_vectors(rows, FieldKind::kSparse));
  QV_TRY(const auto asked, dataset::load_vectors(queries, FieldKind::kSparse));
  const std::size_t n = std::min(n_documents, documents.batch.n_rows);
  return time_both(devices, column_of(documents.batch, n), asked.batch);
}

}  // namespace quiver::bench
