// What the limits of strict mode are compared with: the buckets of rates, the size of collections,
// and the memory of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/collection.h"
#include "service/api/strict/checks.h"
#include "service/api/strict/token_bucket.h"

namespace quiver::service::api::strict {

enum class Rate : std::uint8_t { kRead, kWrite };

/// kResourceExhausted, and how long the caller should wait.
struct RateRefusal {
  Error error;
  std::uint32_t retry_after_s = 0;  ///< 0: no wait would help
};

/// Collections are only known here while a limit is set that needs it, and while they are open. A
/// closed collection starts again with full buckets. Thread-safe.
class Usage {
 public:
  using Clock = TokenBucket::Clock;
  using CollectionPtr = std::shared_ptr<engine::Collection>;

  /// Takes `cost` tokens from the collection's bucket for `per_minute` tokens. A changed limit
  /// makes a new, full bucket.
  [[nodiscard]] std::optional<RateRefusal> take(Rate rate, const CollectionPtr& collection,
                                                std::uint64_t per_minute, std::uint64_t cost,
                                                Clock::time_point now) QV_EXCLUDES(mutex_);

  /// The collection's size, measured again after each change and not more often than `limits`
  /// require.
  [[nodiscard]] Result<CollectionSize> size_of(const CollectionPtr& collection,
                                               const engine::StrictMode& limits) const;

  /// Resident memory in percent of the memory that this process may use; at most half a second old.
  [[nodiscard]] std::uint64_t memory_percent(Clock::time_point now) QV_EXCLUDES(mutex_);

 private:
  struct Buckets {
    std::weak_ptr<engine::Collection> owner;
    std::optional<TokenBucket> read, write;
  };
  Buckets& buckets_of(const CollectionPtr& collection) QV_REQUIRES(mutex_);

  Mutex mutex_;
  std::unordered_map<const engine::Collection*, Buckets> buckets_ QV_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> memory_read_at_ QV_GUARDED_BY(mutex_);
  std::uint64_t memory_percent_ QV_GUARDED_BY(mutex_) = 0;
};

}  // namespace quiver::service::api::strict
