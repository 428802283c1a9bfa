// Building the runs of one range of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/rows/terms.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// Largest magnitude of each term in rows `[first, first + n)`.
[[nodiscard]] std::vector<float> largest_values(const SparseColumn& column, std::uint32_t first,
                                                std::uint32_t n, const TermMap& terms);

/// Levels of least squared error over a sample of these rows (Lloyd's algorithm on a histogram).
[[nodiscard]] LevelTable fit_levels(const SparseColumn& column, std::uint32_t first,
                                    std::uint32_t n, const TermMap& terms,
                                    const std::vector<float>& maxima);

/// The runs of one range, each padded to a multiple of kLevels numbers.
struct RangeRuns {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::vector<std::uint32_t>
      places;  ///< place of each term's run, in units of kLevels numbers; kNone: no run
  std::vector<std::uint16_t> runs;
};

/// Borrows everything; any number of threads.
class RangeBuilder {
 public:
  RangeBuilder(const SparseColumn& column, const TermMap& terms, const std::vector<float>& maxima,
               const LevelTable& levels)
      : column_(column), terms_(terms), maxima_(maxima), levels_(levels) {}

  /// The runs of rows `[first, first + n)`, n <= kRangeRows.
  [[nodiscard]] RangeRuns build(std::uint32_t first, std::uint32_t n) const;

 private:
  [[nodiscard]] std::vector<std::uint64_t> slots_of(std::uint32_t first, std::uint32_t n) const;

  const SparseColumn& column_;
  const TermMap& terms_;
  const std::vector<float>& maxima_;
  const LevelTable& levels_;
};

}  // namespace quiver::index::sparse
