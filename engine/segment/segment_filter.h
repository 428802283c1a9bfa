// Which rows of a segment a search of one field may return: live, with a vector, and matching the
// query's filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/bitset.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/segment/segment.h"
#include "index/listed_rows.h"
#include "index/row_filter.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// Bounds and an expectation of the number of rows that a filter would allow, from postings and
/// counts alone: microseconds, no rows are read. `predicate` as in `SegmentFilter::make`.
[[nodiscard]] payload::Estimate estimate_allowed(const Segment& segment, std::size_t field,
                                                 const payload::Predicate* predicate);

class SegmentFilter {
 public:
  /// `predicate`: nullptr matches every row. Errors are those of `Predicate::evaluate`.
  [[nodiscard]] static Result<SegmentFilter> make(const Segment& segment, std::size_t field,
                                                  const payload::Predicate* predicate,
                                                  const Cancel& cancel);

  /// As the index takes it; borrows from this.
  [[nodiscard]] index::RowFilter view() const {
    if (few_) return index::RowFilter::of(*few_);
    return allowed_ ? index::RowFilter::of(*allowed_) : index::RowFilter::all(n_rows_);
  }

 private:
  SegmentFilter(std::uint32_t n_rows, std::optional<Bitset> allowed)
      : n_rows_(n_rows), allowed_(std::move(allowed)) {}
  explicit SegmentFilter(index::ListedRows few) : n_rows_(few.n_rows()), few_(std::move(few)) {}

  std::uint32_t n_rows_;
  std::optional<index::ListedRows> few_;
  std::optional<Bitset> allowed_;  ///< nullopt: every row, unless there are few
};

}  // namespace quiver::engine
