#include "engine/segment/segment_filter.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/segment/segment_rows.h"

namespace quiver::engine {
namespace {

bool matches_all(const payload::Predicate* predicate) {
  return predicate == nullptr || predicate->always_true();
}

}  // namespace

payload::Estimate estimate_allowed(const Segment& segment, std::size_t field,
                                   const payload::Predicate* predicate) {
  const std::uint64_t n_rows = segment.n_rows();
  const std::uint64_t n_present = segment.data->fields[field].n_present;
  const std::uint64_t n_live = segment.n_live();
  payload::Estimate matching{n_rows, n_rows, n_rows};
  if (!matches_all(predicate)) matching = predicate->estimate(SegmentRows(*segment.data));
  const std::uint64_t max = std::min({matching.max, n_present, n_live});
  const std::uint64_t n_lost =
      (n_rows - n_present) + (n_rows - n_live);  // counting some rows twice
  const std::uint64_t min = matching.min > n_lost ? matching.min - n_lost : 0;
  if (n_rows == 0) return {};
  // As if the three were independent.
  const auto n = static_cast<double>(n_rows);
  const double expected = static_cast<double>(matching.expected) *
                          (static_cast<double>(n_present) / n) * (static_cast<double>(n_live) / n);
  return {min, std::clamp(static_cast<std::uint64_t>(expected + 0.5), min, max), max};
}

Result<SegmentFilter> SegmentFilter::make(const Segment& segment, std::size_t field,
                                          const payload::Predicate* predicate,
                                          const Cancel& cancel) {
  if (matches_all(predicate)) {
    return SegmentFilter(segment.n_rows(), live_with_vector(segment, field));
  }
  QV_TRY(auto few, few_matching_rows(segment, *predicate, cancel));
  if (few) {
    const auto& present = segment.data->fields[field].present;
    std::erase_if(*few, [&](std::uint32_t row) { return present[row] == 0; });
    return SegmentFilter(index::ListedRows(segment.n_rows(), *std::move(few)));
  }
  QV_TRY(auto matching, many_matching_rows(segment, *predicate, cancel));
  return SegmentFilter(segment.n_rows(), with_vector(segment, field, std::move(matching)));
}

}  // namespace quiver::engine
