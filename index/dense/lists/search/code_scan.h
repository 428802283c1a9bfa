// Scan of coded rows, block by block, that keeps the best estimates.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "index/row_filter.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// Memory of one thread's scans, reused.
struct ScanScratch {
  std::vector<float> scores;
  std::vector<std::uint32_t> positions;
  std::vector<float> order;
  std::vector<std::uint32_t> places;
};

/// Keeps the positions of the `want` greatest estimates; ties go to the lowest position. The order
/// of blocks does not matter. One scan at a time per scratch.
class CodeScan {
 public:
  CodeScan(std::size_t want, ScanScratch& scratch);

  /// Offers the rows of `blocks`, at positions from `first_position` on. `allowed`: a mask of 16
  /// rows per block, or nullptr.
  void scan(const CodeTables& query, CodeBlocks blocks, float base, const std::uint16_t* allowed,
            std::uint32_t first_position);
  /// As `scan`, but tests rows after they are found, which is cheaper if most are allowed. `rows`:
  /// row of each position.
  void scan_and_drop(const CodeTables& query, CodeBlocks blocks, float base,
                     const RowFilter& filter, std::span<const std::uint32_t> rows,
                     std::uint32_t first_position);

  /// Drops found rows that are not allowed, and keeps `want` rows from now on. False if few are
  /// left while dropped positions may have been allowed: scan again.
  bool narrow(const RowFilter& filter, std::span<const std::uint32_t> rows, std::size_t want);
  /// The k-th greatest estimate so far, k <= `want`; minus infinity if there are fewer.
  [[nodiscard]] float kth(std::size_t k) const;
  /// The kept positions, in order of scanning.
  [[nodiscard]] const CodeHits& best();

 private:
  void shrink();
  void cut();
  void drop(std::size_t first, const RowFilter& filter, std::span<const std::uint32_t> rows);

  std::size_t want_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  CodeHits hits_;
  std::vector<float>* order_;
  std::vector<std::uint32_t>* places_;
};

}  // namespace quiver::index::dense
