// Bulk loads of a collection, over all its shards: docs/decisions/0011.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "base/threads/published.h"
#include "engine/collections/sharding/shard_list.h"
#include "engine/model/bulk.h"
#include "engine/model/config.h"
#include "engine/shard/bulk_load.h"
#include "engine/write/bulk_rows.h"

namespace quiver::engine {

/// Thread-safe. Loads run one after another. After a failure of the disk a load may stay open; then
/// updates of its shards wait until it is settled: by the next load or by `retry`.
class CollectionBulk {
 public:
  /// All outlive this; the shards do not change after the first load.
  CollectionBulk(const Published<Shards>& shards, const Published<CollectionConfig>& config,
                 Executor& background)
      : shards_(shards), config_(config), background_(background) {}

  /// As `Collection::bulk_load`.
  Result<> load(const BulkChunk& chunk) QV_EXCLUDES(mutex_);
  /// Settles in the background a load that stayed open. `owner` is kept alive meanwhile.
  void retry(std::shared_ptr<const void> owner) QV_EXCLUDES(mutex_);
  /// Calls `fn` while no load runs.
  template <class F>
  auto between_loads(F fn) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return fn();
  }

 private:
  /// A load that is neither finished nor cancelled in all shards.
  struct OpenLoad {
    std::uint64_t number = 0;
    bool decided = false;
    std::vector<std::uint32_t> shards;  ///< shards that take part
  };

  Result<> run(BulkRows& rows, const std::optional<std::string>& cursor) QV_REQUIRES(mutex_);
  Result<> write(const BulkRows& rows, const std::vector<BulkStart>& starts) QV_REQUIRES(mutex_);
  /// Finishes or cancels an open load.
  Result<> settle() QV_REQUIRES(mutex_);
  /// As `settle`. After an error `retry` tries again, and updates that wait learn why.
  Result<> try_to_settle() QV_REQUIRES(mutex_);

  /// Of a collection without keys, whose shards stay for good.
  [[nodiscard]] BulkLoad& bulk_of(std::size_t shard) const {
    return (*shards_.load())[shard].shard->bulk();
  }

  const Published<Shards>& shards_;
  const Published<CollectionConfig>& config_;
  Executor& background_;

  Mutex mutex_;  ///< held across I/O: it makes loads run one after another
  std::optional<OpenLoad> open_load_ QV_GUARDED_BY(mutex_);
  std::uint64_t last_load_ QV_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> unsettled_ = false;  ///< a load stayed open after an error
};

}  // namespace quiver::engine
