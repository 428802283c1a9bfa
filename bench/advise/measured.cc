#include "bench/advise/measured.h"

#include <algorithm>

#include "base/clock.h"
#include "bench/ann/built_index.h"
#include "bench/common/statistics.h"
#include "engine/indexing/indexes.h"

namespace quiver::bench::advise {
namespace {

/// Queries of a call that only serves recall: they share the reading of rows.
constexpr std::size_t kQueriesPerCall = 32;
/// Queries that are timed where all would take long.
constexpr std::size_t kFewQueries = 20;
/// Seconds of a repeat that is timed.
constexpr double kRepeatSeconds = 0.1;
/// Bytes of a point beside its vector: id, key, payload `{}`. Measured on disk with 100,000 points.
constexpr double kPointBytes = 80;

}  // namespace

std::vector<Point> points_of(std::span<const MeasuredWay> ways) {
  std::vector<Point> points;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const auto& efforts = ways[way].efforts;
    for (std::size_t effort = 0; effort < efforts.size(); ++effort) {
      points.push_back(
          {way, effort, ways[way].bytes(), efforts[effort].recall, efforts[effort].qps});
    }
  }
  return points;
}

Result<Bench> Bench::prepare(const Data& data, std::vector<std::uint32_t> rows,
                             std::size_t n_queries, std::size_t k, Executor& executor,
                             Directory& directory) {
  Bench bench(data, std::move(rows), n_queries, k, executor, directory);
  QV_TRY(bench.original_, bench.store(DType::kF32));
  const Allowed all(bench.original_->column);
  QV_TRY(bench.truth_, exact_truth(bench.original_->column, bench.original_->queries, all, k,
                                   executor, directory));
  return bench;
}

Result<Bench::Stored> Bench::store(DType dtype) const {
  FieldSchema schema = data_->schema;
  schema.dtype = dtype;
  QV_TRY(auto column, make_column(data_->base.batch, schema, rows_));
  QV_TRY(auto queries, QuerySet::of(queries_, schema, "queries"));
  QV_TRY(auto few_queries, QuerySet::of(take_evenly(queries_, kFewQueries), schema, "queries"));
  return Stored{std::move(column), std::move(queries), std::move(few_queries)};
}

Result<> Bench::store_as(DType dtype) {
  const bool is_there = stored_ && stored_->column.schema.dtype == dtype;
  if (is_there) return {};
  stored_.reset();  // before the next rows take memory
  if (dtype == DType::kF32) {
    stored_ = original_;
    return {};
  }
  QV_TRY(stored_, store(dtype));
  return {};
}

Result<MeasuredWay> Bench::measure(const Way& way, Efforts efforts, std::uint64_t seed) {
  const Stopwatch watch;
  QV_TRY(store_as(way.dtype));
  const index::FieldColumn& column = stored_->column;
  QV_TRY(const auto built,
         BuiltIndex::build(way.index.type, column, way.index.build, seed, *executor_, *directory_));
  const auto n = static_cast<double>(column.n_rows);
  const auto& cost = built.cost();
  MeasuredWay measured;
  measured.way = way;
  measured.n_rows = column.n_rows;
  measured.row_bytes = static_cast<double>(column_bytes(column)) / n;
  if (way.index.type != "flat") {
    measured.index_bytes =
        static_cast<double>(cost.memory.heap_bytes + cost.memory.mapped_bytes) / n;
    measured.below_minimum = column_bytes(column) < engine::usual_min_bytes(column.schema);
  }
  // The store of rows and the segment each have a copy.
  measured.disk_bytes = static_cast<double>(vector_bytes(column.schema.dim, way.dtype)) +
                        measured.row_bytes + static_cast<double>(cost.file_bytes) / n + kPointBytes;
  measured.build_s = cost.seconds;
  for (const KeyValues& params : efforts_of(way.index.type, efforts)) {
    QV_TRY(const auto parsed, built.type().parse_search(params));
    QV_TRY(auto effort, search(built.searcher(), parsed));
    effort.params = params;
    measured.efforts.push_back(std::move(effort));
  }
  measured.seconds = watch.seconds();
  return measured;
}

/// A first pass on all threads finds the hits of all queries; then one thread is timed.
Result<MeasuredEffort> Bench::search(const index::Searcher& searcher,
                                     const index::AnyParams& params) {
  const Allowed all(stored_->column);
  const SearchSetup setup{searcher, stored_->queries, all, params, k_};
  const MeasureOptions method{.threads = executor_->n_threads(),
                              .batch = kQueriesPerCall,
                              .repeats = 1,
                              .warmup = 0,
                              .min_seconds = 0};
  QV_TRY(auto first, bench::measure(setup, method, *executor_));
  QV_TRY(const auto timed, time_searches(searcher, params, first.cpu_us));
  const RecallSummary recall = recall_of_hits(std::move(first.hits));
  return MeasuredEffort{.params = {},
                        .recall = recall.mean,
                        .recall_p5 = recall.p5,
                        .qps = median(timed.qps),
                        .p95_us = percentile(timed.latencies_us, 0.95)};
}

/// `expected_us`: CPU time of a query in the first pass.
Result<Measurement> Bench::time_searches(const index::Searcher& searcher,
                                         const index::AnyParams& params, double expected_us) {
  const Allowed all(stored_->column);
  const bool takes_long =
      expected_us * 1e-6 * static_cast<double>(stored_->queries.size()) > 3 * kRepeatSeconds;
  const auto& queries = takes_long ? stored_->few_queries : stored_->queries;
  const SearchSetup setup{searcher, queries, all, params, k_};
  return bench::measure(setup,
                        {.repeats = 3, .warmup = 0, .min_seconds = takes_long ? 0 : kRepeatSeconds},
                        *executor_);
}

RecallSummary Bench::recall_of_hits(std::vector<std::vector<index::Hit>> hits) const {
  for (std::size_t q = 0; q < hits.size(); ++q) {
    score_exactly(original_->column, original_->queries.prepare(q), hits[q]);
  }
  return summarise_recall(truth_.perfect, k_, hits);
}

}  // namespace quiver::bench::advise
