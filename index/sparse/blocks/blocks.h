// Seismic: inverted lists cut into blocks of similar rows, with a summary for each block.
//
// After Bruch, Nardini, Rulli and Venturini, "Efficient inverted indexes for approximate retrieval
// over learned sparse representations" (SIGIR 2024), and "Pairing clustered inverted indexes with
// k-NN graphs" (CIKM 2024). Differences: the blocks of all lists are taken in one order, best
// first; summaries have one scale and are rounded up; each row stays reachable.
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
#include "base/views.h"
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

/// Queries of a batch that take turns, so that one computes while memory answers the others.
inline constexpr std::size_t kQueriesAtOnce = 4;

/// One query over blocks. Lists of terms with positive weights are walked; the others count in
/// scores.
struct BlockQuery {
  std::span<const QueryTerm> terms;  ///< each once
  const float* table = nullptr;      ///< weights by term, as `Records::score` wants it
  BlockSearchParams params;
  std::size_t n_wanted = 0;
  /// Gets the best `n_wanted`, by the scores of their records, best first. Never nullptr.
  std::vector<ScoredRow>* out = nullptr;
};

/// Immutable; shares its memory; any number of threads.
class Blocks {
 public:
  /// The same input and seed give the same blocks whatever the number of threads. Memory beside the
  /// result: 5 bytes a non-zero, 8 a kept posting (with pruning `global`; else 8 a non-zero), about
  /// 5 `doc_cut` a row, and for each thread 13 bytes a term and the blocks of one list. Rows are
  /// reported as progress in proportion to the postings done. Errors: those of `check(params)`,
  /// of `context.cancel`, and kResourceExhausted for 2^32 postings or more.
  [[nodiscard]] static Result<Blocks> build(const SparseColumn& column, std::uint32_t n_rows,
                                            const TermMap& terms, const Records& records,
                                            const BlockParams& params, const BuildContext& context);
  /// Sections 40 to 59.
  void write(SectionWriter& out) const;
  /// kDataLoss unless every offset, row, block and term in it is in place.
  [[nodiscard]] static Result<Blocks> open(const SectionReader& in, std::uint32_t n_rows,
                                           std::uint32_t n_terms);

  /// For each query the best rows that `filter` allows, of those that were met. Four queries at a
  /// time take turns; answers are as if each were alone. Does not allocate once its scratch memory,
  /// one a thread, has grown. After an error some answers may be missing.
  [[nodiscard]] Result<> search(std::span<const BlockQuery> queries, const Records& records,
                                const RowFilter& filter, const Cancel& cancel,
                                WorkCounters& work) const;

  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] std::uint32_t n_terms() const { return static_cast<std::uint32_t>(lists_.size()); }
  [[nodiscard]] std::size_t n_blocks() const { return first_row_.size() - 1; }
  [[nodiscard]] std::size_t n_postings() const { return rows_.size(); }
  [[nodiscard]] std::uint32_t n_neighbours() const { return n_neighbours_; }

  [[nodiscard]] const ListHeader& list(std::uint32_t term) const { return lists_[term]; }
  [[nodiscard]] SummaryView summaries(std::uint32_t term) const {
    return SummaryView(summaries_.data(), lists_[term], n_terms());
  }
  /// What a code of a summary stands for.
  [[nodiscard]] float scale() const { return scale_; }
  /// Rows of a block, ascending. Blocks are numbered over all lists.
  [[nodiscard]] std::span<const std::uint32_t> rows(std::uint32_t block) const {
    const std::uint32_t first = first_row_[block];
    return rows_.span().subspan(first, length_between(first, first_row_[block + 1]));
  }
  /// Fetches the line that says where its rows are, then the line of its first rows.
  void prefetch_place(std::uint32_t block) const { prefetch_line(&first_row_[block]); }
  void prefetch_rows(std::uint32_t block) const { prefetch_line(&rows_[first_row_[block]]); }
  [[nodiscard]] const TopComponents& heads() const { return heads_; }
  /// `n_neighbours()` rows; where there were fewer, the row itself fills them up.
  [[nodiscard]] std::span<const std::uint32_t> neighbours(std::uint32_t row) const {
    return neighbours_.span().subspan(std::size_t{row} * n_neighbours_, n_neighbours_);
  }
  void prefetch_neighbours(std::uint32_t row) const {
    prefetch_line(neighbours_.data() + std::size_t{row} * n_neighbours_);
  }

 private:
  friend class BlocksBuilder;

  Result<> check_lists(const SectionReader& in) const;

  std::uint32_t n_rows_ = 0;
  std::uint32_t n_neighbours_ = 0;
  float scale_ = 1;
  TopComponents heads_;
  SharedSpan<ListHeader> lists_;          ///< by term
  SharedBytes summaries_;                 ///< of all lists, 64-byte lines
  SharedSpan<std::uint32_t> first_row_;   ///< `[n_blocks + 1]`, places in `rows_`
  SharedSpan<std::uint32_t> rows_;        ///< of blocks
  SharedSpan<std::uint32_t> neighbours_;  ///< `[n_rows, n_neighbours]`
};

}  // namespace quiver::index::sparse
