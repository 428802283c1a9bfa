// Whether the fields of a collection keep the recall that they promise.
//
// Requests ask for the factor of a field's efforts and count their searches. Some searches are
// handed over, done again exactly by whoever was given for that, and noted. `mutex_` of a field
// guards what is noted; the rest is atomic.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/threads/append_only.h"
#include "engine/model/config.h"
#include "engine/model/recall.h"
#include "engine/recall/recall_bet.h"
#include "engine/recall/recall_budget.h"
#include "engine/recall/watched_search.h"

namespace quiver::engine {

/// A field broke its promise.
struct RecallAlarm {
  double observed = 0;  ///< mean recall of the watched searches
  double promised = 0;  ///< by the last of them
  std::uint64_t n_watched = 0;
  double effort_factor = 1;  ///< from now on
  bool is_first = false;     ///< since the last measurement
};

/// Thread-safe.
class RecallWatch {
 public:
  /// What an alarm multiplies the efforts by, and the most that several alarms do: twelve times the
  /// effort finds what can be found.
  static constexpr double kFactorOfAlarm = 1.5;
  static constexpr double kMaxFactor = 12;
  /// Recall below the promise that is no reason for an alarm: the promise is one of the mean over
  /// measurements, too.
  static constexpr double kSlack = 0.01;

  /// Does the search again elsewhere and reports by `note`, then `done_with`; false: it cannot.
  using Handler = std::function<bool(WatchedSearch)>;
  RecallWatch(std::shared_ptr<RecallBudget> budget, Handler handler)
      : budget_(std::move(budget)), handler_(std::move(handler)) {}

  /// Takes new fields over, and begins anew for those that were measured again.
  void follow(const CollectionConfig& config);

  void note_asked(std::size_t field);
  /// True if a recall was asked of the field since the collection was opened.
  [[nodiscard]] bool is_asked(std::size_t field) const;
  /// What the efforts of the field's table are multiplied by.
  [[nodiscard]] double effort_factor(std::size_t field) const;
  /// Counts a search that was not exact; true: hand it over.
  [[nodiscard]] bool wants(std::size_t field);
  /// Drops the search if one is at work already.
  void hand_over(WatchedSearch search) noexcept;
  void done_with(RecallBudget::Seconds took);

  /// An alarm, if this was one search too many.
  std::optional<RecallAlarm> note(std::size_t field, const RecallTarget& target, double recall);
  /// True from an alarm to the next measurement.
  [[nodiscard]] bool is_alarmed(std::size_t field) const;
  /// What is watched of the field: `observed`, `n_watched`, `n_alarms`, `effort_factor`.
  [[nodiscard]] RecallStatus status(std::size_t field) const;

 private:
  struct Field {
    std::atomic<bool> is_asked = false;
    std::atomic<bool> is_suspicious = false;
    std::atomic<std::uint64_t> n_searches = 0;  ///< since the last measurement
    std::atomic<double> factor = 1;
    mutable Mutex mutex;
    std::uint64_t measured_at_ms QV_GUARDED_BY(mutex) = 0;  ///< of the table that is watched
    RecallBet bet QV_GUARDED_BY(mutex);
    double sum QV_GUARDED_BY(mutex) = 0;  ///< of recall
    std::uint64_t n_watched QV_GUARDED_BY(mutex) = 0;
    std::uint64_t n_alarms QV_GUARDED_BY(mutex) = 0;
    bool is_alarmed QV_GUARDED_BY(mutex) = false;
  };

  const std::shared_ptr<RecallBudget> budget_;
  const Handler handler_;
  std::atomic<bool> is_busy_ = false;  ///< a search is being done again
  AppendOnly<Field> fields_;           ///< by number
};

}  // namespace quiver::engine
