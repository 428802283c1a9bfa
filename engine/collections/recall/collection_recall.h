// Keeps the recall that a collection promises: has searches done again exactly, and measures fields
// again when a measurement is missing, old or wrong.
//
// `mutex_` guards which measurement runs. A measurement is a task of the executor of jobs, a
// watched search one of the executor of long queries; both keep the collection open meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "engine/indexing/query_samples.h"
#include "engine/model/config.h"
#include "engine/model/recall.h"
#include "engine/recall/recall_watch.h"

namespace quiver::engine {

/// What keeping the recall needs of the collection. All may be called from any thread.
struct RecallHost {
  std::function<std::shared_ptr<const CollectionConfig>()> config;
  std::function<FieldPoints(std::size_t field)> points;
  /// An error while this node may not change the collection.
  std::function<Result<>()> check_changes;
  std::function<Result<RecallTable>(const RecallRequest&, const Cancel&)> measure;
  std::function<Result<>(RecallTable)> store;
  std::function<Result<double>(const WatchedSearch&, const Cancel&)> recall_of;
  /// Keeps the collection open while something runs; nullptr: it is closing.
  std::function<std::shared_ptr<const void>()> keep;
};

struct RecallContext {
  Executor& watching;                     ///< does searches again
  Executor& measuring;                    ///< of the lowest priority
  std::shared_ptr<QuerySamples> queries;  ///< nullptr: none are recorded
  std::shared_ptr<RecallBudget> budget;
  KeepRecall keep = KeepRecall::kYes;
};

/// Thread-safe.
class CollectionRecall {
 public:
  CollectionRecall(RecallContext context, RecallHost host);

  [[nodiscard]] RecallWatch& watch() { return watch_; }
  /// The collection has a new configuration.
  void follow(const CollectionConfig& config);
  /// Begins the measurement that is due, if any.
  void tick() QV_EXCLUDES(mutex_);
  [[nodiscard]] bool is_busy() const QV_EXCLUDES(mutex_);
  /// Ends what runs; nothing is begun afterwards, and what was posted ends when its turn comes.
  void close() QV_EXCLUDES(mutex_);

  /// `request` with the queries that it is to be measured with. kFailedPrecondition if it wants
  /// recorded ones and there are too few.
  [[nodiscard]] Result<RecallRequest> with_queries(RecallRequest request) const;
  /// Of all fields that have a table or were asked for a recall, by number.
  [[nodiscard]] std::vector<RecallStatus> statuses() const QV_EXCLUDES(mutex_);

 private:
  /// Why a field is to be measured.
  struct Due {
    std::string why;
    RecallUrgency urgency = RecallUrgency::kUsual;
  };
  [[nodiscard]] std::optional<Due> due(std::size_t field, const CollectionConfig& config) const;
  void describe_next(std::size_t field, const CollectionConfig& config, RecallStatus& status) const
      QV_EXCLUDES(mutex_);
  bool watch_again(WatchedSearch search);
  void run_watched(const WatchedSearch& search);
  void raise(std::size_t field, const RecallAlarm& alarm);
  void begin(std::size_t field, const std::string& name, const Due& due) QV_EXCLUDES(mutex_);
  void take_turn(const std::string& name, const std::string& why) QV_EXCLUDES(mutex_);
  Result<> run_measurement(const std::string& name, const std::string& why);
  enum class Outcome : std::uint8_t { kMeasured, kFailed };
  void end_measurement(RecallBudget::Seconds took, Outcome outcome) QV_EXCLUDES(mutex_);

  const RecallContext context_;
  const RecallHost host_;
  const Cancel cancel_;
  RecallWatch watch_;

  mutable Mutex mutex_;
  CondVar ended_;
  /// The field whose measurement was posted, or runs.
  std::optional<std::size_t> measured_ QV_GUARDED_BY(mutex_);
  bool is_running_ QV_GUARDED_BY(mutex_) = false;
  std::optional<RecallBudget::Time> failed_at_ QV_GUARDED_BY(mutex_);
  bool is_closed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::engine
