#include "engine/write/update_parts.h"

#include <algorithm>
#include <utility>

namespace quiver::engine {

UpdateJoin::UpdateJoin(std::size_t n_parts, std::size_t n_operations, Ack ack, Done done)
    : n_open_(n_parts), done_(std::move(done)) {
  results_.resize(n_operations);
  for (auto& result : results_) result.completed = ack == Ack::kVisible;
}

void UpdateJoin::part_done(const std::vector<std::size_t>& numbers,
                           const Result<std::vector<Seq>>& seqs) {
  {
    MutexLock lock(mutex_);
    if (!seqs && !error_) error_ = seqs.error();
    for (std::size_t i = 0; seqs && i < seqs->size(); ++i) {
      auto& id = results_[numbers[i]].operation_id;
      id = std::max(id, (*seqs)[i]);
    }
    if (--n_open_ != 0) return;
  }
  finish();
}

/// Nobody else uses this any more.
void UpdateJoin::finish() {
  if (error_) {
    done_(fail(*error_));
  } else {
    done_(std::move(results_));
  }
}

}  // namespace quiver::engine
