// The best of many coded rows by their estimates, block after block.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "index/row_filter.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// What one thread's scans write to; kept from one search to the next.
struct ScanScratch {
  std::vector<float> scores;
  std::vector<std::uint32_t> positions;
  std::vector<float> order;
  std::vector<std::uint32_t> places;
};

/// Keeps the positions with the `want` greatest estimates, of equal ones the first, in whatever
/// order blocks are scanned; one at a time for each scratch.
class CodeScan {
 public:
  CodeScan(std::size_t want, ScanScratch& scratch);

  /// Offers the rows of `blocks` with their places from `first_position` on.
  void scan(const CodeTables& query, CodeBlocks blocks, float base, const std::uint16_t* allowed,
            std::uint32_t first_position);
  /// As `scan`; rows that are not allowed are dropped once they are found, which is cheaper if few
  /// are. `rows`: of each position.
  void scan_and_drop(const CodeTables& query, CodeBlocks blocks, float base,
                     const RowFilter& filter, std::span<const std::uint32_t> rows,
                     std::uint32_t first_position);

  /// Keeps of the rows that were found those that are allowed, and `want` from now on. False if
  /// these are far fewer, and worse rows that were dropped may have been allowed: scan again then.
  bool narrow(const RowFilter& filter, std::span<const std::uint32_t> rows, std::size_t want);
  /// The k-th greatest estimate so far, `k` <= `want`; minus infinity if there are fewer.
  [[nodiscard]] float kth(std::size_t k) const;
  /// The best, in order of scanning.
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
