// The time that a process spends on keeping promises of recall: on doing searches again exactly,
// and on measuring again.
//
// Both take 2 % of a core at most in the long run. Time for watching is saved up to 2 s, so that it
// is there when something seems wrong. Measurements run one at a time, and one that took t seconds
// is followed by a rest of 50 t; of 10 t before one that an alarm asks for; and of none before the
// first one of a field.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/mutex.h"

namespace quiver::engine {

/// Whether a server watches recall and measures by itself.
enum class KeepRecall : std::uint8_t { kNo, kYes };

/// How soon a measurement may follow another one.
enum class RecallUrgency : std::uint8_t { kUsual, kAlarm, kFirst };

/// Thread-safe.
class RecallBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Seconds = std::chrono::duration<double>;

  static constexpr double kShareOfCore = 0.02;
  static constexpr double kMaxSavedS = 2;
  /// One of so many searches is watched while more than half of kMaxSavedS is saved, or while
  /// something seems wrong; and one of so many while there is any time.
  static constexpr std::uint64_t kOften = 10;
  static constexpr std::uint64_t kSeldom = 500;
  static constexpr double kRest = 1 / kShareOfCore;
  static constexpr double kRestBeforeAlarmed = 10;

  enum class Mood : std::uint8_t { kCalm, kSuspicious };
  /// One of how many searches is to be watched; 0: none.
  [[nodiscard]] std::uint64_t one_of(Mood mood, Time now) QV_EXCLUDES(mutex_);
  void spend_on_watching(Seconds took) QV_EXCLUDES(mutex_);

  /// Takes the turn to measure; false: somebody measures, or has not rested for long enough.
  [[nodiscard]] bool begin_measuring(RecallUrgency urgency, Time now) QV_EXCLUDES(mutex_);
  void end_measuring(Seconds took, Time now) QV_EXCLUDES(mutex_);
  /// Rest that is left, 0 or more.
  [[nodiscard]] Seconds rest(RecallUrgency urgency, Time now) const QV_EXCLUDES(mutex_);

 private:
  void save_up(Time now) QV_REQUIRES(mutex_);
  [[nodiscard]] Seconds rest_left(RecallUrgency urgency, Time now) const QV_REQUIRES(mutex_);

  mutable Mutex mutex_;
  double saved_s_ QV_GUARDED_BY(mutex_) = kMaxSavedS;
  std::optional<Time> saved_until_ QV_GUARDED_BY(mutex_);
  bool is_measuring_ QV_GUARDED_BY(mutex_) = false;
  Seconds last_took_ QV_GUARDED_BY(mutex_){0};
  Time last_ended_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
