// Lists over rows that are still being added: what makes a fresh collection fast before anything
// is built.
//
// Rows are covered by lists of their own in groups of 1,024 as soon as a group is full, and eight
// groups are made one. What no group covers yet is scored row by row. Everything is exact.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/index.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/rows/terms.h"

namespace quiver::index::sparse {

/// Lists of rows `[first, first + lists.n_rows())`.
struct RowGroup {
  std::uint32_t first = 0;
  TermMap terms;
  ImpactLists lists;
};

/// One thread extends it; searchers are immutable and outlive it.
class GrowingLists {
 public:
  /// Rows from which on it is worth extending.
  static constexpr std::uint32_t kStep = 1024;

  /// `column` has all rows so far, those of earlier calls in front. Costs a few microseconds a
  /// row, twice.
  void extend(const FieldColumn& column);
  /// Over `column`, as given to `extend` last.
  [[nodiscard]] std::shared_ptr<const Searcher> searcher(FieldColumn column) const;

 private:
  [[nodiscard]] std::uint32_t n_covered() const;
  void cover(const SparseColumn& column, std::uint32_t first, std::uint32_t n);
  void join_last(const SparseColumn& column);

  std::vector<std::shared_ptr<const RowGroup>> groups_;
};

}  // namespace quiver::index::sparse
