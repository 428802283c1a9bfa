// Posting lists with quantized values (impacts), read by exact and truncated scans.
//
// Rows are grouped into ranges, so that the sums of a range stay in L1. A run holds the rows of one
// term in one range by falling impact: 16 levels relative to the term's largest value, rows
// ascending within a level. A scan adds one number for a whole level and may stop after any level.
//
// A value never exceeds the upper end of its level, so sums of upper ends are upper bounds of
// scores.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "gpu/devices.h"
#include "index/index.h"
#include "index/sparse/rows/terms.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

inline constexpr std::uint32_t kRangeRows = 1U << 14;
inline constexpr std::size_t kLevels = 16;

/// Levels as shares of a term's largest value, in (0, 1], ascending.
struct LevelTable {
  std::array<float, kLevels> upper{};
  std::array<float, kLevels> mean{};

  /// The level of a share in [0, 1].
  [[nodiscard]] std::size_t level_of(float share) const;
};

/// Postings of one term in one range. `n_from[l]`: number of postings with a level >= l; they come
/// first in `rows()`, which are row numbers within the range. kReadBehind numbers after the last
/// row may be read; their values do not matter.
struct ImpactRun {
  static constexpr std::size_t kReadBehind = 3;
  const std::uint16_t* n_from = nullptr;
  [[nodiscard]] const std::uint16_t* rows() const { return n_from + kLevels; }
};

/// A run with lengths of its own, which cannot change after they were checked.
struct CheckedRun {
  std::array<std::uint16_t, kLevels> n_from;
  const std::uint16_t* rows;
};

/// Immutable; shares its memory. Whatever changes in the file after opening, checked runs do not
/// lead outside of it.
class ImpactLists {
 public:
  /// Lists in memory of rows `[first, first + n)`, n <= kRangeRows. Row 0 of the lists is `first`.
  [[nodiscard]] static ImpactLists of_rows(const SparseColumn& column, std::uint32_t first,
                                           std::uint32_t n, const TermMap& terms);
  /// Writes the lists of a column, a few ranges at a time. Memory besides the table of places:
  /// about 8 bytes per non-zero of as many ranges as there are threads.
  [[nodiscard]] static Result<> write(const SparseColumn& column, std::uint32_t n_rows,
                                      const TermMap& terms, const BuildContext& context,
                                      SectionWriter& out);
  [[nodiscard]] static Result<ImpactLists> open(const SectionReader& in, std::uint32_t n_rows,
                                                std::uint32_t n_terms);

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] std::uint32_t n_ranges() const { return n_ranges_; }
  [[nodiscard]] std::uint32_t rows_in(std::uint32_t range) const;
  [[nodiscard]] const LevelTable& levels() const { return levels_; }
  /// The largest value of a term.
  [[nodiscard]] float max_of(std::uint32_t term) const { return maxima_[term]; }
  /// `[kLevels]`: number of the term's postings with a level >= l, over all ranges.
  [[nodiscard]] const std::uint32_t* totals_of(std::uint32_t term) const {
    return totals_.data() + std::size_t{term} * kLevels;
  }
  /// The run's numbers are read from memory that is not checked: to prefetch.
  [[nodiscard]] ImpactRun run(std::uint32_t term, std::uint32_t range) const {
    const std::size_t first = kUnit * std::size_t{places_[place_of(term, range)]};
    return {runs_.data() + (first + kUnit <= runs_.size() ? first : 0)};
  }
  /// Without rows in place of one that does not end within the lists.
  [[nodiscard]] CheckedRun checked_run(std::uint32_t term, std::uint32_t range) const {
    const ImpactRun found = run(term, range);
    CheckedRun checked{{}, found.rows()};
    std::copy_n(found.n_from, kLevels, checked.n_from.begin());
    const auto n_left = static_cast<std::size_t>(runs_.data() + runs_.size() - found.rows());
    const bool is_at_end = n_left < std::numeric_limits<std::uint16_t>::max();
    if (is_at_end && *std::ranges::max_element(checked.n_from) > n_left) checked.n_from = {};
    return checked;
  }
  [[nodiscard]] std::uint64_t bytes() const;
  /// What a device may hold of them.
  [[nodiscard]] gpu::ImpactRuns device_form() const;

 private:
  /// Runs start at multiples of this many u16: half a cache line.
  static constexpr std::size_t kUnit = kLevels;

  [[nodiscard]] std::size_t place_of(std::uint32_t term, std::uint32_t range) const {
    return std::size_t{term} * n_ranges_ + range;
  }

  std::uint32_t n_rows_ = 0;
  std::uint32_t n_ranges_ = 0;
  LevelTable levels_;
  SharedSpan<float> maxima_;
  SharedSpan<std::uint32_t> totals_;
  SharedSpan<std::uint32_t> places_;  ///< in `kUnit`s; 0: the empty run
  SharedSpan<std::uint16_t> runs_;
};

/// Number of rows that hold `component`, with a value of either sign.
[[nodiscard]] std::uint64_t n_rows_with(std::uint32_t component, const TermMap& terms,
                                        const ImpactLists& lists);

}  // namespace quiver::index::sparse
