// Posting lists over rows that are still being added, so that a fresh collection is fast before an
// index is built.
//
// Every 1,024 new rows get lists of their own (a group), and eight groups are joined into one. Rows
// without a group are scored one by one. All answers are exact.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/index.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/rows/terms.h"

namespace quiver::index::sparse {

/// Posting lists of rows `[first, first + lists.n_rows())`.
struct RowGroup {
  std::uint32_t first = 0;
  TermMap terms;
  ImpactLists lists;
};

/// One thread extends it. Searchers are immutable and may outlive it.
class GrowingLists {
 public:
  /// Rows of a small group.
  static constexpr std::uint32_t kStep = 1024;

  /// `column`: all rows so far, starting with those of earlier calls. Costs a few microseconds per
  /// row, twice.
  void extend(const FieldColumn& column);
  /// A searcher over `column`, the one given to `extend` last.
  [[nodiscard]] std::shared_ptr<const Searcher> searcher(FieldColumn column) const;

 private:
  [[nodiscard]] std::uint32_t n_covered() const;
  void cover(const SparseColumn& column, std::uint32_t first, std::uint32_t n);
  void join_last(const SparseColumn& column);

  std::vector<std::shared_ptr<const RowGroup>> groups_;
};

}  // namespace quiver::index::sparse
