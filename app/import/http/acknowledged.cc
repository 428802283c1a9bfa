#include "app/import/http/acknowledged.h"

namespace quiver::app {

void Acknowledged::add(std::uint64_t first, std::uint64_t end, std::uint64_t n_points,
                       std::uint64_t n_points_sent) {
  MutexLock lock(mutex_);
  n_points_sent_ += n_points_sent;
  if (first == end) return;
  ahead_.emplace(first, Range{end, n_points});
  for (auto it = ahead_.begin(); it != ahead_.end() && it->first == next_row_;
       it = ahead_.erase(it)) {
    next_row_ = it->second.end;
    n_points_ += it->second.n_points;
  }
}

Acknowledged::Progress Acknowledged::progress() const {
  MutexLock lock(mutex_);
  return {next_row_, n_points_, n_points_sent_};
}

}  // namespace quiver::app
