#include "index/exact/searcher.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "index/exact/dense_scorer.h"
#include "index/exact/device_search.h"
#include "index/exact/scan.h"
#include "index/exact/scorer.h"

namespace quiver::index {
namespace {

/// Calls `visit` with a scorer of dense queries, which all have bytes or all have none.
template <class Visit>
auto with_dense(std::span<const PreparedQuery* const> queries, const DenseColumn& column,
                Visit visit) {
  if (is_code(column.dtype)) return visit(DenseCodeScorer(queries, column));
  if (!queries.front()->bytes().empty()) return visit(DenseByteScorer(queries, column));
  return visit(DenseScorer(queries, column));
}

template <class Visit>
auto with_scorer(const PreparedQuery& query, const FieldColumn& column, Visit visit) {
  switch (column.schema.kind) {
    case FieldKind::kSparse:
      return visit(OneQuery(SparseScorer(query, column.sparse())));
    case FieldKind::kMulti:
      return visit(OneQuery(MultiScorer(query, column.multi())));
    case FieldKind::kDense:
      break;
  }
  const PreparedQuery* const queries[] = {&query};
  return with_dense(queries, column.dense(), visit);
}

/// Queries that are searched for together, and their heaps.
struct Batch {
  std::vector<const PreparedQuery*> queries;
  std::vector<TopK*> results;
};

/// Queries with bytes, or queries without: they share tiles.
Result<> search_tiles(const Batch& batch, const DenseColumn& column, const RowFilter& filter,
                      const SearchContext& context, WorkCounters& work) {
  const std::span queries(batch.queries);
  const std::span results(batch.results);
  for (std::size_t first = 0; first < queries.size(); first += kTileQueries) {
    const std::size_t n = std::min(kTileQueries, queries.size() - first);
    QV_TRY(with_dense(queries.subspan(first, n), column, [&](const auto& scorer) {
      return scan_rows(scorer, filter, context, results.subspan(first, n), work);
    }));
  }
  return {};
}

/// Scores `rows` for the queries of `scorer`; those of query j start at `outs[j]`.
template <TileScorer S>
Result<> write_scores(const S& scorer, std::span<const std::uint32_t> rows, const Cancel& cancel,
                      std::span<float* const> outs) {
  BlockScores scores;
  const std::size_t block_rows = rows_of_block(scorer);
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    if (cancel.poll()) return cancel.check();
    const auto block = rows.subspan(first, std::min(block_rows, rows.size() - first));
    scorer.score_rows(block, scores);
    for (std::size_t j = 0; j < outs.size(); ++j) {
      std::copy_n(scores.data() + j * kBlockRows, block.size(), outs[j] + first);
    }
  }
  return {};
}

/// The queries of a tile have bytes, or none has.
Result<> write_dense_scores(std::span<const PreparedQuery* const> queries,
                            const DenseColumn& column, std::span<const std::uint32_t> rows,
                            const Cancel& cancel, std::span<float* const> outs) {
  for (std::size_t first = 0; first < queries.size(); first += kTileQueries) {
    const std::size_t n = std::min(kTileQueries, queries.size() - first);
    QV_TRY(with_dense(queries.subspan(first, n), column, [&](const auto& scorer) {
      return write_scores(scorer, rows, cancel, outs.subspan(first, n));
    }));
  }
  return {};
}

}  // namespace

Result<> FlatSearcher::search(const PreparedQuery& query, const AnyParams&, const RowFilter& filter,
                              const SearchContext& context, TopK& out, WorkCounters& work) const {
  if (filter.n_rows() == 0 || out.k() == 0) return {};
  TopK* const results[] = {&out};
  if (context.devices != nullptr && has_device_form(column_.schema)) {
    QV_TRY(const auto rest,
           search_on_device({{&query, &filter, &out}}, column_, on_device_, context, work));
    if (rest.empty()) {
      if (context.ways != nullptr) context.ways->push_back({"device", 0, true});
      return {};
    }
  }
  return with_scorer(query, column_, [&](const auto& scorer) {
    return scan_rows(scorer, filter, context, results, work);
  });
}

Result<> FlatSearcher::search_batch(std::span<const PreparedQuery* const> queries,
                                    const AnyParams& params, const RowFilter& filter,
                                    const SearchContext& context, std::span<TopK* const> results,
                                    WorkCounters& work) const {
  if (column_.schema.kind == FieldKind::kSparse) {
    return Searcher::search_batch(queries, params, filter, context, results, work);
  }
  if (filter.n_rows() == 0) return {};
  if (context.devices != nullptr && has_device_form(column_.schema)) {
    std::vector<FilteredQuery> all;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      all.push_back({queries[i], &filter, results[i]});
    }
    return search_filtered(all, params, context, work);
  }
  if (column_.schema.kind == FieldKind::kMulti) {
    return Searcher::search_batch(queries, params, filter, context, results, work);
  }
  Batch with_bytes;
  Batch without;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (results[i]->k() == 0) continue;
    Batch& batch = queries[i]->bytes().empty() ? without : with_bytes;
    batch.queries.push_back(queries[i]);
    batch.results.push_back(results[i]);
  }
  QV_TRY(search_tiles(with_bytes, column_.dense(), filter, context, work));
  return search_tiles(without, column_.dense(), filter, context, work);
}

/// A device is asked about all queries, the CPU about those that it left, filter by filter.
Result<> FlatSearcher::search_filtered(std::span<const FilteredQuery> queries,
                                       const AnyParams& params, const SearchContext& context,
                                       WorkCounters& work) const {
  std::vector<FilteredQuery> left;
  for (const FilteredQuery& query : queries) {
    if (query.out->k() != 0 && query.filter->n_rows() != 0) left.push_back(query);
  }
  if (context.devices != nullptr && has_device_form(column_.schema)) {
    QV_TRY(left, search_on_device(std::move(left), column_, on_device_, context, work));
  }
  SearchContext on_cpu = context;
  on_cpu.devices = nullptr;
  return Searcher::search_filtered(left, params, on_cpu, work);
}

bool FlatSearcher::place(gpu::Devices& devices, gpu::Placing placing) const {
  if (column_.n_present == 0 || !has_device_form(column_.schema)) return true;
  return place_on_device(column_, on_device_, devices, placing);
}

Result<> FlatSearcher::hold(gpu::Devices& devices, const gpu::Held& wanted,
                            const Cancel& cancel) const {
  if (column_.n_present == 0 || !has_device_form(column_.schema)) return {};
  if (wanted.any()) want_on_device(column_, on_device_, devices);
  return devices.wait_for(on_device_, cancel);
}

/// By the bytes of the rows, as `Devices` decides.
bool FlatSearcher::is_on_device(std::size_t n_allowed) const {
  std::uint64_t n_bytes = 0;
  if (column_.schema.kind == FieldKind::kDense) {
    n_bytes = n_allowed * column_.dense().stride();
  } else if (column_.schema.kind == FieldKind::kMulti) {
    const MatrixView tokens = column_.multi().tokens.rows();
    n_bytes = tokens.n_rows * tokens.stride_bytes * n_allowed / std::max(1U, column_.n_rows);
  }
  return on_device_.pays(n_bytes);
}

Result<> FlatSearcher::count_terms(std::span<const std::uint32_t> terms, const RowFilter& filter,
                                   std::span<std::uint64_t> counts, const Cancel& cancel) const {
  if (column_.schema.kind != FieldKind::kSparse) {
    return Searcher::count_terms(terms, filter, counts, cancel);
  }
  return index::count_terms(column_.sparse(), filter, terms, counts, cancel);
}

std::uint64_t FlatSearcher::bytes_per_search() const {
  switch (column_.schema.kind) {
    case FieldKind::kDense:
      return column_.dense().rows().n_rows * exact_row_cost(column_.schema);
    case FieldKind::kSparse:
      return column_.sparse().indices.size() * 8;
    case FieldKind::kMulti:
      // Arithmetic takes longer than reading: every token meets every query token.
      return column_.multi().tokens.rows().n_rows * exact_row_cost(column_.schema) * 8;
  }
  return 0;
}

Result<> score_rows(std::span<const PreparedQuery* const> queries, const FieldColumn& column,
                    std::span<const std::uint32_t> rows, const Cancel& cancel,
                    std::span<float> scores) {
  std::vector<const PreparedQuery*> tiled[2];  // without bytes, with bytes
  std::vector<float*> outs[2];
  for (std::size_t j = 0; j < queries.size(); ++j) {
    float* const out = scores.data() + j * rows.size();
    if (column.schema.kind != FieldKind::kDense) {
      QV_TRY(with_scorer(*queries[j], column, [&](const auto& scorer) {
        return write_scores(scorer, rows, cancel, std::span<float* const>(&out, 1));
      }));
      continue;
    }
    const bool has_bytes = !queries[j]->bytes().empty();
    tiled[has_bytes].push_back(queries[j]);
    outs[has_bytes].push_back(out);
  }
  for (const std::size_t k : {0, 1}) {
    if (tiled[k].empty()) continue;
    QV_TRY(write_dense_scores(tiled[k], column.dense(), rows, cancel, outs[k]));
  }
  return {};
}

Result<> offer_exactly(const PreparedQuery& query, const FieldColumn& column,
                       std::span<const std::uint32_t> rows, const Cancel& cancel, TopK& out) {
  return with_scorer(query, column, [&](const auto& scorer) -> Result<> {
    BlockScores scores;
    const std::size_t block_rows = rows_of_block(scorer);
    for (std::size_t first = 0; first < rows.size(); first += block_rows) {
      if (cancel.poll()) return cancel.check();
      const auto block = rows.subspan(first, std::min(block_rows, rows.size() - first));
      scorer.score_rows(block, scores);
      for (std::size_t i = 0; i < block.size(); ++i) out.offer(scores[i], block[i]);
    }
    return {};
  });
}

std::optional<float> score_row(const PreparedQuery& query, const FieldColumn& column,
                               std::uint32_t row) {
  if (column.present[row] == 0) return std::nullopt;
  BlockScores scores;
  with_scorer(query, column, [&](const auto& scorer) { scorer.score_run(row, 1, scores); });
  if (std::isnan(scores[0])) return std::nullopt;
  return scores[0];
}

Result<> count_terms(const SparseColumn& column, const RowFilter& filter,
                     std::span<const std::uint32_t> terms, std::span<std::uint64_t> counts,
                     const Cancel& cancel) {
  const auto count_row = [&](std::uint32_t row) {
    const auto indices = column.row(row).indices;
    auto from = indices.begin();
    for (std::size_t t = 0; t < terms.size() && from != indices.end(); ++t) {
      from = std::lower_bound(from, indices.end(), terms[t]);
      if (from != indices.end() && *from == terms[t]) ++counts[t];
    }
  };
  for (std::uint32_t block = 0; block < filter.n_blocks(); ++block) {
    if (cancel.poll()) return cancel.check();
    for (std::uint64_t rest = filter.block(block); rest != 0; rest &= rest - 1) {
      count_row(block * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
  }
  return {};
}

}  // namespace quiver::index
