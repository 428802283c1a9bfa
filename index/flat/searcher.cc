#include "index/flat/searcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "index/flat/scan.h"
#include "index/flat/scorer.h"

namespace quiver::index {
namespace {

template <class Visit>
auto with_scorer(const Query& query, const FieldColumn& column, Visit visit) {
  switch (column.schema.kind) {
    case FieldKind::kSparse:
      return visit(SparseScorer(query, column.sparse()));
    case FieldKind::kMulti:
      return visit(MultiScorer(query, column.multi()));
    case FieldKind::kDense:
      break;
  }
  return visit(DenseScorer(query, column.dense()));
}

}  // namespace

Result<> FlatSearcher::search(const Query& query, const AnyParams&, const FilterView& filter,
                              const SearchContext& context, TopK& out, WorkCounters& work) const {
  if (filter.n_rows() == 0 || out.k() == 0) return {};
  TopK* const outs[] = {&out};
  return with_scorer(query, column_, [&]<Scorer S>(S scorer) {
    return scan_rows(OneQuery<S>(std::move(scorer)), filter, context, outs, work);
  });
}

Result<> FlatSearcher::search_batch(std::span<const Query* const> queries, const AnyParams& params,
                                    const FilterView& filter, const SearchContext& context,
                                    std::span<TopK* const> outs, WorkCounters& work) const {
  if (column_.schema.kind != FieldKind::kDense) {
    return Searcher::search_batch(queries, params, filter, context, outs, work);
  }
  if (filter.n_rows() == 0) return {};
  for (std::size_t first = 0; first < queries.size(); first += kTileQueries) {
    const std::size_t n = std::min(kTileQueries, queries.size() - first);
    const DenseTile tile(queries.subspan(first, n), column_.dense());
    QV_TRY(scan_rows(tile, filter, context, outs.subspan(first, n), work));
  }
  return {};
}

std::optional<float> score_row(const Query& query, const FieldColumn& column, std::uint32_t row) {
  if (column.present[row] == 0) return std::nullopt;
  float score = 0;
  with_scorer(query, column, [&](const auto& scorer) { scorer.score_run(row, {&score, 1}); });
  if (std::isnan(score)) return std::nullopt;
  return score;
}

Result<> count_terms(const SparseColumn& column, const FilterView& filter,
                     std::span<const std::uint32_t> terms, std::span<std::uint64_t> counts,
                     const Cancel& cancel) {
  for (std::uint32_t row = 0; row < filter.n_rows(); ++row) {
    if (row % 64 == 0 && cancel.poll()) return cancel.check();
    if (!filter.allows(row)) continue;
    const auto indices = column.row(row).indices;
    auto from = indices.begin();
    for (std::size_t t = 0; t < terms.size() && from != indices.end(); ++t) {
      from = std::lower_bound(from, indices.end(), terms[t]);
      if (from != indices.end() && *from == terms[t]) ++counts[t];
    }
  }
  return {};
}

}  // namespace quiver::index
