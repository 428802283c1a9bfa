// Blocks between the thread that reads and the threads that send.
//
// A block is handed out only when none of its ids is on its way already: two rows with one id then
// take effect in the order of the file, on however many connections. (The next block waits, so
// blocks start in order.)
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

  /// Waits for room. False when nobody wants blocks any more.
  bool push(RowBlock block) QV_EXCLUDES(mutex_);
  /// No more blocks will come.
  void finish() QV_EXCLUDES(mutex_);
  /// What waits is dropped, nobody gets more.
  void stop() QV_EXCLUDES(mutex_);

  /// The next block; nullopt at the end. `done` follows.
  std::optional<RowBlock> pop() QV_EXCLUDES(mutex_);
  void done(RowBlock block) QV_EXCLUDES(mutex_);
  /// A block that was done, for its memory; an empty one if there is none.
  RowBlock used() QV_EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool front_may_go() const QV_REQUIRES(mutex_);

  const std::size_t capacity_;
  const Ids ids_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<RowBlock> blocks_ QV_GUARDED_BY(mutex_);
  std::vector<RowBlock> used_ QV_GUARDED_BY(mutex_);
  std::unordered_set<PointId> on_their_way_ QV_GUARDED_BY(mutex_);
  bool finished_ QV_GUARDED_BY(mutex_) = false;
  bool stopped_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::app
