#include "engine/recall/recall_budget.h"

#include <algorithm>
#include <utility>

namespace quiver::engine {

void RecallBudget::save_up(Time now) {
  if (saved_until_ && now > *saved_until_) {
    const double passed = Seconds(now - *saved_until_).count();
    saved_s_ = std::min(kMaxSavedS, saved_s_ + kShareOfCore * passed);
  }
  if (!saved_until_ || now > *saved_until_) saved_until_ = now;
}

std::uint64_t RecallBudget::one_of(Mood mood, Time now) {
  MutexLock lock(mutex_);
  save_up(now);
  if (saved_s_ <= 0) return 0;
  return mood == Mood::kSuspicious || saved_s_ > kMaxSavedS / 2 ? kOften : kSeldom;
}

void RecallBudget::spend_on_watching(Seconds took) {
  MutexLock lock(mutex_);
  saved_s_ -= took.count();
}

RecallBudget::Seconds RecallBudget::rest_left(RecallUrgency urgency, Time now) const {
  if (urgency == RecallUrgency::kFirst) return Seconds(0);
  const double factor = urgency == RecallUrgency::kAlarm ? kRestBeforeAlarmed : kRest;
  return std::max(Seconds(0), factor * last_took_ - Seconds(now - last_ended_));
}

bool RecallBudget::begin_measuring(RecallUrgency urgency, Time now) {
  MutexLock lock(mutex_);
  if (is_measuring_ || rest_left(urgency, now).count() > 0) return false;
  is_measuring_ = true;
  return true;
}

void RecallBudget::end_measuring(Seconds took, Time now) {
  MutexLock lock(mutex_);
  is_measuring_ = false;
  last_took_ = took;
  last_ended_ = now;
}

RecallBudget::Seconds RecallBudget::rest(RecallUrgency urgency, Time now) const {
  MutexLock lock(mutex_);
  return rest_left(urgency, now);
}

}  // namespace quiver::engine
