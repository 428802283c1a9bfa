// Which rows are done, when several connections finish them in any order.
#pragma once

#include <cstdint>
#include <map>

#include "base/mutex.h"

namespace quiver::app {

/// Any thread may call anything.
class Acknowledged {
 public:
  explicit Acknowledged(std::uint64_t next_row) : next_row_(next_row) {}

  /// Rows [first, end), of which `n_points` became points; `n_points_sent`, of these and of rows
  /// behind them, may have become points.
  void add(std::uint64_t first, std::uint64_t end, std::uint64_t n_points,
           std::uint64_t n_points_sent) QV_EXCLUDES(mutex_);

  struct Progress {
    std::uint64_t next_row = 0;       ///< every row before it is done
    std::uint64_t n_points = 0;       ///< of the rows before `next_row`
    std::uint64_t n_points_sent = 0;  ///< of all rows: may be there
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
  std::map<std::uint64_t, Range> ahead_ QV_GUARDED_BY(mutex_);  ///< by first row, beyond next_row_
};

}  // namespace quiver::app
