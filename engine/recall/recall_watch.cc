#include "engine/recall/recall_watch.h"

#include <algorithm>
#include <utility>

#include "base/observe/failure.h"

namespace quiver::engine {
namespace {

/// A search as a bet: what it reached, and the mean that is promised.
struct Wager {
  double reached;
  double promised;
};

/// With `recall_each` alone the promise is how many searches reach it.
Wager wager_of(const RecallTarget& target, double recall) {
  if (target.mean) return {recall, std::max(0.0, *target.mean - RecallWatch::kSlack)};
  const bool is_enough = recall >= target.each.value_or(0);
  return {is_enough ? 1.0 : 0.0, 1 - kLowShare - RecallWatch::kSlack};
}

}  // namespace

void RecallWatch::follow(const CollectionConfig& config) {
  fields_.grow(config.fields.size(), [](std::size_t) { return std::make_unique<Field>(); });
  for (std::size_t i = 0; i < config.fields.size(); ++i) {
    const RecallTable* table = find_recall(config, config.fields[i].name);
    const std::uint64_t measured_at_ms = table == nullptr ? 0 : table->measured_at_ms;
    Field& field = *fields_.find(i);
    MutexLock lock(field.mutex);
    if (field.measured_at_ms == measured_at_ms) continue;
    field.measured_at_ms = measured_at_ms;
    field.bet = {};
    field.sum = 0;
    field.n_watched = 0;
    field.is_alarmed = false;
    field.is_suspicious = false;
    field.n_searches = 0;
    field.factor = 1;
  }
}

void RecallWatch::note_asked(std::size_t number) {
  if (Field* field = fields_.find(number)) field->is_asked.store(true, std::memory_order_relaxed);
}

bool RecallWatch::is_asked(std::size_t number) const {
  const Field* field = fields_.find(number);
  return field != nullptr && field->is_asked.load(std::memory_order_relaxed);
}

double RecallWatch::effort_factor(std::size_t number) const {
  const Field* field = fields_.find(number);
  return field == nullptr ? 1 : field->factor.load(std::memory_order_relaxed);
}

bool RecallWatch::wants(std::size_t number) {
  Field* field = fields_.find(number);
  if (field == nullptr || !handler_) return false;
  const std::uint64_t n = field->n_searches.fetch_add(1, std::memory_order_relaxed);
  if (n % RecallBudget::kOften != 0) return false;  // never wanted, whatever the time
  using Mood = RecallBudget::Mood;
  const Mood mood = field->is_suspicious ? Mood::kSuspicious : Mood::kCalm;
  const std::uint64_t one_of = budget_->one_of(mood, std::chrono::steady_clock::now());
  return one_of != 0 && n % one_of == 0;
}

void RecallWatch::hand_over(WatchedSearch search) noexcept {
  if (is_busy_.exchange(true)) return;
  bool is_taken = false;
  run_logged("watching a search", [&] { is_taken = handler_(std::move(search)); });
  if (!is_taken) is_busy_ = false;
}

void RecallWatch::done_with(RecallBudget::Seconds took) {
  budget_->spend_on_watching(took);
  is_busy_ = false;
}

std::optional<RecallAlarm> RecallWatch::note(std::size_t number, const RecallTarget& target,
                                             double recall) {
  Field* field = fields_.find(number);
  if (field == nullptr) return std::nullopt;
  const Wager wager = wager_of(target, recall);
  MutexLock lock(field->mutex);
  field->sum += recall;
  ++field->n_watched;
  field->bet.note(wager.reached, wager.promised);
  const double capital = field->bet.capital();
  field->is_suspicious = capital >= RecallBet::kSuspiciousCapital;
  if (capital < RecallBet::kAlarmCapital) return std::nullopt;
  ++field->n_alarms;
  field->bet = {};
  field->is_suspicious = false;
  field->factor = std::min(kMaxFactor, kFactorOfAlarm * field->factor);
  const bool is_first = !std::exchange(field->is_alarmed, true);
  return RecallAlarm{field->sum / static_cast<double>(field->n_watched), wager.promised,
                     field->n_watched, field->factor, is_first};
}

bool RecallWatch::is_alarmed(std::size_t number) const {
  const Field* field = fields_.find(number);
  if (field == nullptr) return false;
  MutexLock lock(field->mutex);
  return field->is_alarmed;
}

RecallStatus RecallWatch::status(std::size_t number) const {
  RecallStatus status;
  const Field* field = fields_.find(number);
  if (field == nullptr) return status;
  status.effort_factor = field->factor;
  MutexLock lock(field->mutex);
  status.n_watched = field->n_watched;
  status.n_alarms = field->n_alarms;
  if (field->n_watched != 0) status.observed = field->sum / static_cast<double>(field->n_watched);
  return status;
}

}  // namespace quiver::engine
