#include "bench/gpu_check/batch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/io/file.h"
#include "index/exact/searcher.h"

namespace quiver::bench {
namespace {

Batch exact_over(const index::FieldColumn& column, std::size_t k) {
  Batch batch;
  batch.searcher = std::make_shared<index::FlatSearcher>(column);
  batch.n_rows = column.n_rows;
  batch.k = k;
  batch.prefer = index::Prefer::kExact;
  return batch;
}

}  // namespace

Answer Batch::ask(gpu::Devices* devices) const {
  std::vector<index::RowFilter> filters;
  for (const Bitset& rows : allowed) filters.push_back(index::RowFilter::of(rows));
  std::vector<index::TopK> heaps(queries.size(), index::TopK(k));
  std::vector<const index::PreparedQuery*> asked;
  std::vector<index::TopK*> results;
  std::vector<index::FilteredQuery> filtered;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    asked.push_back(&queries[i]);
    results.push_back(&heaps[i]);
    if (!filters.empty()) {
      filtered.push_back({&queries[i], &filters[i % filters.size()], &heaps[i]});
    }
  }
  Answer answer;
  const Cancel cancel;
  const index::SearchContext context{cancel, executor, prefer, devices};
  const auto begin = std::chrono::steady_clock::now();
  const auto done = filters.empty()
                        ? searcher->search_batch(asked, params, index::RowFilter::all(n_rows),
                                                 context, results, answer.work)
                        : searcher->search_filtered(filtered, params, context, answer.work);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!done) std::abort();  // nothing cancels it
  answer.ms = took.count();
  for (auto& heap : heaps) answer.hits.push_back(heap.take_sorted());
  return answer;
}

void Batch::filter(std::size_t n, double allows, std::mt19937& random) {
  std::bernoulli_distribution is_allowed(allows);
  allowed.assign(n, Bitset(n_rows));
  for (Bitset& rows : allowed) {
    for (std::uint32_t row = 0; row < n_rows; ++row) {
      if (is_allowed(random)) rows.set(row);
    }
  }
}

Batch exact_batch(const index::FieldColumn& column, const Values& queries, std::size_t n_queries,
                  std::size_t k) {
  Batch batch = exact_over(column, k);
  for (std::size_t i = 0; i < n_queries; ++i) {
    batch.queries.push_back(
        index::PreparedQuery::dense(column.schema, queries.row(i % queries.n())));
  }
  return batch;
}

Batch exact_documents(const index::FieldColumn& column, const Values& queries,
                      std::size_t n_queries, std::size_t n_tokens, std::size_t k) {
  Batch batch = exact_over(column, k);
  for (std::size_t i = 0; i < n_queries; ++i) {
    batch.queries.push_back(index::PreparedQuery::multi(
        column.schema,
        std::span(queries.values).subspan(i * n_tokens * queries.dim, n_tokens * queries.dim)));
  }
  return batch;
}

std::shared_ptr<const index::Searcher> index_over(const index::FieldColumn& column,
                                                  const std::string& name,
                                                  const KeyValues& values) {
  const auto& type = *index::find_index_type(name);
  const auto directory = make_memory_directory();
  const Cancel cancel;
  Executor executor(0, "build");
  const auto params = type.parse_build(values);
  if (!params) std::abort();
  if (!type.build(column, *params, {&executor, cancel, kSeed, nullptr}, *directory)) std::abort();
  auto opened = type.open(*directory, column);
  if (!opened) std::abort();
  return *std::move(opened);
}

std::size_t n_different(const Answer& a, const Answer& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < std::min(a.hits.size(), b.hits.size()); ++i) {
    const bool is_same =
        a.hits[i].size() == b.hits[i].size() &&
        std::memcmp(a.hits[i].data(), b.hits[i].data(), a.hits[i].size() * sizeof(index::Hit)) == 0;
    n += is_same ? 0 : 1;
  }
  return n;
}

std::size_t n_different_twice(const Batch& batch, gpu::Devices& devices) {
  const Answer wanted = batch.ask(nullptr);
  static_cast<void>(batch.ask(&devices));
  devices.wait_for_loading();
  std::size_t n = 0;
  for (int i = 0; i < 2; ++i) n += n_different(batch.ask(&devices), wanted);
  return n;
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

Timed time_rounds(const Batch& batch, gpu::Devices& devices, const Answer& wanted) {
  static_cast<void>(batch.ask(&devices));
  devices.wait_for_loading();
  const auto before = devices.report().devices[0];
  Timed timed;
  for (int i = 0; i < kRounds; ++i) {
    const auto answer = batch.ask(&devices);
    timed.different += n_different(answer, wanted);
    timed.times.push_back(answer.ms);
    timed.work = answer.work;
  }
  const auto after = devices.report().devices[0];
  timed.busy_ms = (after.busy_s - before.busy_s) * 1e3 / kRounds;
  timed.n_jobs = after.n_done - before.n_done;
  timed.n_device_queries = after.n_queries - before.n_queries;
  return timed;
}

}  // namespace quiver::bench
