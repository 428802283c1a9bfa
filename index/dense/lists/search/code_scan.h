// Scan of coded rows, block by block, that keeps the best estimates.
#pragma once

#include <algorithm>
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

/// The k-th greatest of `scores`, which are not NaN; 1 <= k <= their number.
[[nodiscard]] float kth_greatest(std::span<const float> scores, std::size_t k,
                                 ScanScratch& scratch);

/// Keeps the positions of the `want` greatest estimates; ties go to the lowest position. The order
/// of blocks does not matter. One scan at a time per scratch.
class CodeScan {
 public:
  CodeScan(std::size_t want, ScanScratch& scratch);

  /// Offers the rows of `blocks`, at positions from `first_position` on. `allowed`: a mask of 16
  /// rows per block, or nullptr. Blocks without an allowed row are not read.
  void scan(const CodeTables& query, CodeBlocks blocks, float base, const std::uint16_t* allowed,
            std::uint32_t first_position);
  /// Offers codes that were scanned elsewhere.
  void offer(std::span<const float> scores, std::span<const std::uint32_t> positions);
  /// Counts what the masks of the next list allow, for the two shares below. Returns the number of
  /// blocks with an allowed row.
  std::size_t count_masks(std::span<const std::uint16_t> allowed);
  /// As `scan`, but tests rows after they are found, which is cheaper if most are allowed. `rows`:
  /// row of each position.
  void scan_and_drop(const CodeTables& query, CodeBlocks blocks, float base,
                     const RowFilter& filter, std::span<const std::uint32_t> rows,
                     std::uint32_t first_position);

  /// Drops what is not among the best. Returns a number that at least `want` of the estimates are
  /// not below, and hardly more; minus infinity unless there are more. `keep_near` leaves it.
  float narrow();
  /// Rows that a scan keeps beyond `want`, as errors of estimates may hide that they are better.
  struct NearRows {
    std::size_t k = 0;        ///< at most `want`
    float range = 0;          ///< estimates at most so far below the k-th best are near
    float range_of_many = 0;  ///< the same, where more than `want` rows are near
    std::size_t most = 0;     ///< rows that are kept in all
  };
  void keep_near(const NearRows& near);
  /// False if rows within `range` were dropped, because there are more than `most`.
  [[nodiscard]] bool has_all_near() const;
  /// From now on `early_share` is about the first `n` rows that are tested.
  void watch(double n) { n_watched_ = n; }
  /// Share of the rows under watch that are allowed; 1 until there are as many.
  [[nodiscard]] double early_share() const {
    return n_early_ < n_watched_ ? 1 : n_early_allowed_ / n_early_;
  }
  /// Share of the rows found by `scan_and_drop` that were not dropped; 0 if it found none.
  [[nodiscard]] double kept_share() const { return n_kept_ / std::max(1.0, n_found_); }
  /// Share of the positions whose masks were counted that these allow; 0 if there are none.
  [[nodiscard]] double allowed_share() const { return n_allowed_ / std::max(1.0, n_masked_); }
  /// The k-th greatest estimate so far, k <= `want`; minus infinity if there are fewer.
  [[nodiscard]] float kth(std::size_t k) const;
  /// Number of kept positions; more than `want` of them may be kept for now.
  [[nodiscard]] std::size_t n_kept() const { return hits_.n; }
  /// The kept positions, in order of scanning.
  [[nodiscard]] const CodeHits& best();

 private:
  void count(double n, double n_allowed);
  [[nodiscard]] std::size_t n_above(float bar) const;
  float next_kth();
  void make_room();
  void count_near();
  void shrink();
  void drop_worst();
  void cut();
  void drop(std::size_t first, const RowFilter& filter, std::span<const std::uint32_t> rows);

  std::size_t want_;
  std::size_t least_;  ///< `want` of the constructor
  NearRows near_;
  float last_kth_ = -std::numeric_limits<float>::infinity();  ///< as `count_near` found it
  float threshold_ = -std::numeric_limits<float>::infinity();
  float highest_threshold_ = std::numeric_limits<float>::infinity();  ///< of those to come
  CodeHits hits_;
  double n_found_ = 0;  ///< by `scan_and_drop`
  double n_kept_ = 0;
  double n_masked_ = 0;  ///< positions scanned with masks
  double n_allowed_ = 0;
  double n_watched_ = 0;
  double n_early_ = 0;
  double n_early_allowed_ = 0;
  ScanScratch* scratch_;
};

}  // namespace quiver::index::dense
