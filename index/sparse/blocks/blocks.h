// Seismic: posting lists cut into blocks of similar rows, with a summary of each block.
//
// Bruch, Nardini, Rulli and Venturini, "Efficient inverted indexes for approximate retrieval over
// learned sparse representations" (SIGIR 2024), and "Pairing clustered inverted indexes with k-NN
// graphs" (CIKM 2024). Differences: blocks of all lists are read in one order, best first;
// summaries have one scale and are rounded up; each row stays reachable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "index/index.h"
#include "index/row_filter.h"
#include "index/sparse/blocks/block_params.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/best_rows.h"
#include "index/sparse/rows/records.h"
#include "index/sparse/rows/terms.h"
#include "index/sparse/rows/top_components.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// Queries of a batch that take turns, so that one computes while memory serves the others.
inline constexpr std::size_t kQueriesAtOnce = 4;

/// A query over blocks. Lists of terms with positive weights are walked; other terms count in
/// scores only.
struct BlockQuery {
  std::span<const QueryTerm> terms;  ///< distinct terms
  const float* table = nullptr;      ///< weights by term (`Records::score`)
  BlockSearchParams params;
  std::size_t n_wanted = 0;
  /// Receives the best `n_wanted` rows by the scores of their records, best first. Not nullptr.
  std::vector<ScoredRow>* out = nullptr;
};

/// Immutable; shares its memory; any number of threads. Whatever changes in the file after opening,
/// nothing outside of it is read.
class Blocks {
 public:
  /// The same input and seed give the same blocks for any number of threads. Memory besides the
  /// result: 5 bytes per non-zero, 8 per kept posting (pruning other than `global`: 8 per
  /// non-zero), about 5 * `doc_cut` per row, and per thread 13 bytes per term and the blocks of one
  /// list. Progress: rows, in proportion to postings done. Errors: those of `check(params)` and of
  /// `context.cancel`; kResourceExhausted from 2^32 - 1 postings on.
  [[nodiscard]] static Result<Blocks> build(const SparseColumn& column, std::uint32_t n_rows,
                                            const TermMap& terms, const Records& records,
                                            const BlockParams& params, const BuildContext& context);
  /// Sections 40 to 59.
  void write(SectionWriter& out) const;
  /// kDataLoss unless every offset, row, block and term is valid.
  [[nodiscard]] static Result<Blocks> open(const SectionReader& in, std::uint32_t n_rows,
                                           std::uint32_t n_terms);

  /// Finds for each query the best allowed rows in the blocks it reads. Four queries at a time take
  /// turns; answers are those of each alone. Does not allocate once the thread's memory has grown.
  /// After an error some answers may be missing.
  [[nodiscard]] Result<> search(std::span<const BlockQuery> queries, const Records& records,
                                const RowFilter& filter, const Cancel& cancel,
                                WorkCounters& work) const;

  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] std::uint32_t n_terms() const { return static_cast<std::uint32_t>(lists_.size()); }
  [[nodiscard]] std::size_t n_blocks() const { return first_row_.size() - 1; }
  [[nodiscard]] std::size_t n_postings() const { return rows_.size(); }
  [[nodiscard]] std::uint32_t n_neighbours() const { return n_neighbours_; }

  /// A list without blocks in place of a damaged one.
  [[nodiscard]] ListHeader list(std::uint32_t term) const {
    const ListHeader header = lists_[term];
    return is_valid(header) ? header : ListHeader();
  }
  void prefetch_list(std::uint32_t term) const { prefetch_line(&lists_[term]); }
  [[nodiscard]] SummaryView summaries(const ListHeader& list) const {
    return SummaryView(summaries_.data(), list, n_terms());
  }
  /// Value of code 1 in summaries.
  [[nodiscard]] float scale() const { return scale_; }
  /// Rows of a block, ascending. Block numbers run over all lists. In a damaged file rows may be
  /// `n_rows()` and more.
  [[nodiscard]] std::span<const std::uint32_t> rows(std::uint32_t block) const {
    const std::uint32_t first = first_row_[block];
    const std::uint32_t end = first_row_[block + 1];
    if (first > end || end > rows_.size()) return {};
    return rows_.span().subspan(first, end - first);
  }
  /// Prefetches where the block's rows are, and then the first rows.
  void prefetch_place(std::uint32_t block) const { prefetch_line(&first_row_[block]); }
  void prefetch_rows(std::uint32_t block) const { prefetch_line(&rows_[first_row_[block]]); }
  [[nodiscard]] const TopComponents& heads() const { return heads_; }
  /// `n_neighbours()` rows; the row itself fills missing places. In a damaged file as of `rows`.
  [[nodiscard]] std::span<const std::uint32_t> neighbours(std::uint32_t row) const {
    return neighbours_.span().subspan(std::size_t{row} * n_neighbours_, n_neighbours_);
  }
  void prefetch_neighbours(std::uint32_t row) const {
    prefetch_line(neighbours_.data() + std::size_t{row} * n_neighbours_);
  }

 private:
  friend class BlocksBuilder;

  Result<> check_lists(const SectionReader& in) const;
  /// True if blocks and summaries are within those of all lists.
  [[nodiscard]] bool is_valid(const ListHeader& header) const;

  std::uint32_t n_rows_ = 0;
  std::uint32_t n_neighbours_ = 0;
  float scale_ = 1;
  TopComponents heads_;
  SharedSpan<ListHeader> lists_;          ///< one for each term
  SharedBytes summaries_;                 ///< summaries of all lists, in 64-byte lines
  SharedSpan<std::uint32_t> first_row_;   ///< `[n_blocks + 1]`: first place in `rows_`
  SharedSpan<std::uint32_t> rows_;        ///< rows of all blocks
  SharedSpan<std::uint32_t> neighbours_;  ///< `[n_rows, n_neighbours]`
};

}  // namespace quiver::index::sparse
