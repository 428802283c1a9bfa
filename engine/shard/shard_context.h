// What all shards of a process share.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "engine/indexing/indexes.h"
#include "engine/indexing/query_samples.h"
#include "engine/model/replication.h"
#include "engine/recall/recall_budget.h"
#include "engine/write/write_gate.h"
#include "storage/rows/runtime.h"

namespace quiver::engine {

/// Everything outlives the shards.
struct ShardContext {
  std::shared_ptr<storage::Runtime> runtime;
  Executor* lanes = nullptr;       ///< where the apply lanes run
  Executor* background = nullptr;  ///< where segments are built
  std::uint64_t max_queued_bytes = 64ULL << 20;
  /// Opens a shard's directory; tests put their own file system in.
  std::function<Result<std::unique_ptr<Directory>>(const std::string&)> open_directory =
      open_real_directory;
  /// The index types of fields; tests put their own in.
  IndexChooser choose_index = default_index;
  RecordQueries record_queries = RecordQueries::kYes;
  KeepRecall keep_recall = KeepRecall::kYes;
  /// Of all collections of the process.
  std::shared_ptr<RecallBudget> recall_budget = std::make_shared<RecallBudget>();
  /// Asked before an update is taken.
  std::shared_ptr<const WriteGate> write_gate = std::make_shared<const WriteGate>();
  /// Recorded queries of the collection; nullptr: none are recorded.
  std::shared_ptr<QuerySamples> queries = nullptr;
  /// Devices that help with searches; nullptr: none.
  gpu::Devices* devices = nullptr;
  /// The cluster that the shards are parts of; nullptr: none.
  Replication* replication = nullptr;
  /// How long closing waits for running work, and again once that was cancelled.
  std::chrono::milliseconds close_patience = std::chrono::seconds(5);
  /// How long updates wait behind a bulk load or a seal before they are refused.
  std::chrono::milliseconds update_patience = std::chrono::seconds(60);
  /// Seconds since 1970; tests put their own clock in.
  std::function<std::int64_t()> unix_s = [] { return unix_time_ms() / 1000; };
};

}  // namespace quiver::engine
