#include "index/sparse/blocks/neighbours.h"

#include <algorithm>
#include <atomic>

#include "index/progress.h"

namespace quiver::index::sparse {
namespace {

/// Neighbours need not be the best: missing a tenth of them does not show in results.
constexpr BlockSearchParams kSearch = {.query_cut = 10, .heap_factor = 1, .head_factor = 0.7F};

/// Search for neighbours; one thread.
class NeighbourFinder {
 public:
  NeighbourFinder(const Blocks& blocks, const SparseColumn& column, const TermMap& terms,
                  const Records& records, const Cancel& cancel)
      : blocks_(blocks),
        column_(column),
        terms_(terms),
        records_(records),
        cancel_(cancel),
        table_(terms.size() + 1, 0) {}

  Result<> find(std::uint32_t row, std::span<std::uint32_t> out) {
    std::fill(out.begin(), out.end(), row);
    const auto query = terms_.terms_of(column_.row(row));
    for (const QueryTerm& term : query) table_[term.term] = term.weight;
    WorkCounters work;
    const BlockQuery search{query, table_.data(), kSearch, out.size() + 1, &found_};
    auto status = blocks_.search(std::span(&search, 1), records_, RowFilter::all(blocks_.n_rows()),
                                 cancel_, work);
    for (const QueryTerm& term : query) table_[term.term] = 0;
    QV_TRY(std::move(status));
    std::size_t n = 0;
    for (const ScoredRow& candidate : found_) {
      if (candidate.row != row && n < out.size()) out[n++] = candidate.row;
    }
    return {};
  }

 private:
  const Blocks& blocks_;
  const SparseColumn& column_;
  const TermMap& terms_;
  const Records& records_;
  const Cancel& cancel_;
  std::vector<float> table_;
  std::vector<ScoredRow> found_;
};

}  // namespace

Result<std::vector<std::uint32_t>> find_neighbours(const Blocks& blocks, const SparseColumn& column,
                                                   const TermMap& terms, const Records& records,
                                                   std::uint32_t n, const BuildContext& context) {
  std::vector<std::uint32_t> neighbours(std::size_t{blocks.n_rows()} * n);
  std::atomic<std::uint32_t> next = 0;
  BuildProgress progress(context, blocks.n_rows(), blocks.n_rows());
  const auto work = [&](std::size_t worker) {
    NeighbourFinder finder(blocks, column, terms, records, context.cancel);
    for (std::uint32_t row = next++; row < blocks.n_rows(); row = next++) {
      if (!finder.find(row, std::span(neighbours).subspan(std::size_t{row} * n, n))) return;
      progress.add(1);
      if (worker == 0) progress.report();
    }
  };
  if (context.executor == nullptr) {
    work(0);
  } else {
    context.executor->parallel_for(context.executor->n_threads() + 1, work, Priority::kLow);
  }
  QV_TRY(context.cancel.check());
  progress.report();
  return neighbours;
}

}  // namespace quiver::index::sparse
