// Tracks which rows are done while several connections finish them in any order.
#pragma once

#include <cstdint>
#include <map>

#include "base/mutex.h"

namespace quiver::app {

/// Thread-safe.
class Acknowledged {
 public:
  explicit Acknowledged(std::uint64_t next_row) : next_row_(next_row) {}

  /// Rows [first, end) are done and gave `n_points` points. `n_points_sent` points of these and of
  /// later rows may have reached the server.
  void add(std::uint64_t first, std::uint64_t end, std::uint64_t n_points,
           std::uint64_t n_points_sent) QV_EXCLUDES(mutex_);

  struct Progress {
    std::uint64_t next_row = 0;       ///< every row before it is done
    std::uint64_t n_points = 0;       ///< points of the rows before `next_row`
    std::uint64_t n_points_sent = 0;  ///< points of all rows that may have reached the server
  };
  [[nodiscard]] Progress progress() const QV_EXCLUDES(mutex_);

 private:
  struct Range {
    std::uint64_t end = 0;
    std::uint64_t n_points = 0;
  };
  mutable Mutex mutex_;
  std::uint64_t next_row_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_points_ QV_GUARDED_BY(mutex_) = 0;
  std::uint64_t n_points_sent_ QV_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Range> ahead_
      QV_GUARDED_BY(mutex_);  ///< finished ranges after next_row_, by first row
};

}  // namespace quiver::app
