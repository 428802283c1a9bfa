// Passes blocks from the reading thread to the sending threads.
//
// `pop` returns a block only when no block in flight has one of its ids. So two rows with the same
// id take effect in the order of the file, over any number of connections. Later blocks wait behind
// it, so blocks start in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "app/import/plan/rows.h"
#include "base/mutex.h"

namespace quiver::app {

enum class Ids : std::uint8_t { kDistinct, kMayRepeat };

class BlockQueue {
 public:
  BlockQueue(std::size_t capacity, Ids ids) : capacity_(capacity), ids_(ids) {}

  /// Waits for room. False after `stop`.
  bool push(RowBlock block) QV_EXCLUDES(mutex_);
  /// No more blocks will come.
  void finish() QV_EXCLUDES(mutex_);
  /// Drops the waiting blocks; `push` and `pop` return at once.
  void stop() QV_EXCLUDES(mutex_);

  /// Returns the next block; nullopt at the end. The caller passes it to `done` afterwards.
  std::optional<RowBlock> pop() QV_EXCLUDES(mutex_);
  void done(RowBlock block) QV_EXCLUDES(mutex_);
  /// A finished block whose memory can be reused; an empty one if there is none.
  RowBlock used() QV_EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool front_may_go() const QV_REQUIRES(mutex_);

  const std::size_t capacity_;
  const Ids ids_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<RowBlock> blocks_ QV_GUARDED_BY(mutex_);
  std::vector<RowBlock> used_ QV_GUARDED_BY(mutex_);
  std::unordered_set<PointId> in_flight_ QV_GUARDED_BY(mutex_);
  bool finished_ QV_GUARDED_BY(mutex_) = false;
  bool stopped_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::app
