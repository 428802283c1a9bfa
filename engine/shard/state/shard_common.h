// What all parts of one shard use: its place, its store, its configuration, its lane.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/io/file.h"
#include "base/observe/failure.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "base/threads/lane.h"
#include "base/threads/published.h"
#include "engine/model/config.h"
#include "engine/shard/state/background.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {

/// What lies on the disk.
struct ShardFiles {
  std::unique_ptr<Directory> segments;
  std::unique_ptr<storage::ShardStore> store;
};

/// Any thread may use all of it. Outlives the parts of the shard.
struct ShardCommon {
  ShardCommon(std::string shard_path, std::shared_ptr<const CollectionConfig> shard_config,
              ShardFiles shard_files, Executor& lanes, Executor& builders)
      : path(std::move(shard_path)),
        files(std::move(shard_files)),
        config(std::move(shard_config)),
        lane(lanes, Priority::kHigh),
        background(builders, lane) {}

  [[nodiscard]] Directory& segments() const { return *files.segments; }
  [[nodiscard]] storage::ShardStore& store() const { return *files.store; }

  /// Runs `fn` in the lane and returns its result. kUnavailable if the shard closes. Not for tasks
  /// of the lane.
  template <class F>
  std::invoke_result_t<F> in_lane(F fn) {
    using Answer = std::invoke_result_t<F>;
    return guarded([&]() -> Answer {
      std::promise<Answer> promise;
      auto answer = promise.get_future();
      if (closed || !lane.post([&] { promise.set_value(guarded(fn)); })) {
        return fail(Code::kUnavailable, "the collection is closed");
      }
      return answer.get();
    });
  }

  const std::string path;
  const ShardFiles files;
  Published<CollectionConfig> config;
  Cancel closing;                       ///< polled by background work
  std::atomic<bool> closed = false;     ///< no updates are taken, no jobs are started
  std::atomic<bool> wants_tick = true;  ///< there may be work for a tick
  SerialLane lane;
  Background background;
};

}  // namespace quiver::engine
