// Keeps the files of a shard's sealed segments in memory as the configuration asks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/model/memory_plan.h"
#include "engine/segment/segment.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"

namespace quiver::engine {

/// Lane only, but for `warning`. The work runs in the background, since pinning reads files.
class MemoryPlacing {
 public:
  MemoryPlacing(ShardCommon& common, const SegmentTable& table) : common_(common), table_(table) {}

  /// Starts the work if segments or configuration have changed since it was last done. Costs next
  /// to nothing while everything is cached.
  void start() noexcept;
  /// Why something is not pinned as asked; empty if all is. Any thread.
  [[nodiscard]] std::string warning() const QV_EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool is_done(const SealedSegments& segments, const MemoryPlan& plan) const;
  void run(const SealedSegments& segments, const MemoryPlan& plan);
  void note(const Result<>& placed) QV_EXCLUDES(mutex_);

  ShardCommon& common_;
  const SegmentTable& table_;
  bool is_running_ = false;
  MemoryPlan plan_;                                       ///< as last put in force
  std::vector<std::weak_ptr<const SegmentData>> placed_;  ///< segments that follow it

  mutable Mutex mutex_;
  std::string warning_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
