// Points that expire: from their second on they are dead to readers, and then they are deleted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "engine/model/config.h"
#include "engine/model/operation.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// The points that have expired at second `now_s` since the epoch.
[[nodiscard]] payload::Filter expired_filter(const Ttl& ttl, payload::IndexKind kind,
                                             std::int64_t now_s);

/// The snapshots of a collection's shards without expired points. Time comes in with each call.
/// Thread-safe.
class Expiry {
 public:
  using Sets = std::vector<std::shared_ptr<const SegmentSet>>;

  /// `sets` in which points that have expired at `now_s` are dead. Costs a comparison unless a
  /// second has passed or a set has changed. A set that cannot be read is not whole.
  [[nodiscard]] Sets hide(Sets sets, const CollectionConfig& config, std::int64_t now_s)
      QV_EXCLUDES(mutex_);
  /// Deletes some of the points of `sets` that have expired at `now_s`, unless their values change
  /// first; nullopt: there are none. The operation, not its application, knows the time.
  [[nodiscard]] std::optional<DeletePoints> deletion(const Sets& sets,
                                                     const CollectionConfig& config,
                                                     std::int64_t now_s);

 private:
  struct Entry {
    std::shared_ptr<const SegmentSet> all;
    std::shared_ptr<const SegmentSet> living;
    std::int64_t now_s = 0;
    std::optional<Ttl> ttl;
  };

  Mutex mutex_;
  std::vector<Entry> entries_ QV_GUARDED_BY(mutex_);  ///< the latest, by shard
};

}  // namespace quiver::engine
