#include "engine/model/recall.h"

#include <algorithm>
#include <cmath>

namespace quiver::engine {
namespace {

/// Queries made of stored vectors may be easier than real ones, which missed up to 1.9 times as
/// many hits on arxiv-100k: so many times the measured loss is reckoned with.
constexpr double kSyntheticLoss = 2;
/// The loss of more hits stands for that of one hit, which is not measured with made queries. The
/// one is missed up to twice as often as ten are, by multi-vectors.
constexpr double kLossOfOneHit = 2;
/// A table of fewer or more points than 1 : kMaxGrowth of now says nothing.
constexpr std::uint64_t kMaxGrowth = 2;
/// Nor does one if the indexed share has grown by more: which queries lose hits then is not known.
constexpr double kMaxIndexedGrowth = 1.25;

/// Factor of the indexed share of the points since the measurement, at least 1; infinite if none
/// was indexed then.
double growth_of_indexed(const RecallTable& table, const FieldPoints& points) {
  const auto now = static_cast<double>(points.indexed) * static_cast<double>(table.n_points);
  const auto then = static_cast<double>(table.n_indexed) * static_cast<double>(points.all);
  return now > then ? now / then : 1;
}

/// `factor`: of the measured losses.
bool is_enough(const RecallPoint& point, const RecallTarget& target, double n, double factor) {
  if (target.mean) {
    const double loss = factor * (1 - point.recall / kPpm);
    if ((n * loss + 1) / (n + 1) > 1 - *target.mean) return false;
  }
  return !target.each || 1 - factor * (1 - point.low / kPpm) >= *target.each;
}

/// The least effort from which on all efforts are enough.
RecallChoice choose_in(const RecallCell& cell, const RecallTarget& target, double n,
                       double factor) {
  RecallChoice choice;
  for (auto point = cell.points.rbegin(); point != cell.points.rend(); ++point) {
    if (!is_enough(*point, target, n, factor)) break;
    choice = {false, point->effort, 1 - factor * (1 - point->recall / kPpm)};
  }
  return choice;
}

}  // namespace

std::string_view to_string(RecallSource source) {
  switch (source) {
    case RecallSource::kGiven:
      return "given";
    case RecallSource::kSynthetic:
      return "synthetic";
    case RecallSource::kRecorded:
      return "recorded";
  }
  return "given";
}

std::string_view to_string(RecallStatus::Next next) {
  switch (next) {
    case RecallStatus::Next::kNone:
      return "none";
    case RecallStatus::Next::kWaiting:
      return "waiting";
    case RecallStatus::Next::kRunning:
      return "running";
    case RecallStatus::Next::kNever:
      return "never";
  }
  return "none";
}

bool is_current(const RecallTable& table, const FieldPoints& points) {
  return points.all <= kMaxGrowth * table.n_points && table.n_points <= kMaxGrowth * points.all &&
         growth_of_indexed(table, points) <= kMaxIndexedGrowth;
}

RecallChoice choose_effort(const RecallTable* table, const RecallTarget& target, std::uint64_t k,
                           double selectivity, const FieldPoints& points) {
  if (table == nullptr || !is_current(*table, points)) return {};
  // The cells around the query: the least measured k that is no smaller, and the shares next to it.
  std::uint64_t near_k = 0;
  for (const RecallCell& cell : table->cells) {
    if (cell.k >= k && (near_k == 0 || cell.k < near_k)) near_k = cell.k;
  }
  const RecallCell* above = nullptr;
  const RecallCell* below = nullptr;
  for (const RecallCell& cell : table->cells) {
    if (cell.k != near_k) continue;
    const double share = cell.selectivity / kPpm;
    if (share >= selectivity && (above == nullptr || cell.selectivity < above->selectivity)) {
      above = &cell;
    }
    if (share <= selectivity && (below == nullptr || cell.selectivity > below->selectivity)) {
      below = &cell;
    }
  }
  const auto n = static_cast<double>(table->n_queries);
  double factor = growth_of_indexed(*table, points);
  if (table->source == RecallSource::kSynthetic) {
    factor *= kSyntheticLoss * (k == 1 && near_k > 1 ? kLossOfOneHit : 1);
  }
  RecallChoice worst{false, 0, 1};
  for (const RecallCell* cell : {above, below}) {
    if (cell == nullptr) continue;
    const RecallChoice choice = choose_in(*cell, target, n, factor);
    if (choice.is_exact) return {};
    worst.effort = std::max(worst.effort, choice.effort);
    worst.estimate = std::min(worst.estimate, choice.estimate);
  }
  return worst.effort == 0 ? RecallChoice{} : worst;
}

void RecallReport::add(const RecallTarget& target, const RecallTable* table,
                       const RecallChoice& choice) {
  Facts facts{.target = target,
              .effort = choice.effort,
              .estimate = choice.estimate,
              .is_exact = choice.is_exact};
  if (table != nullptr) {
    facts.n_queries = table->n_queries;
    facts.source = table->source;
    facts.measured_at_ms = table->measured_at_ms;
  }
  add(facts);
}

void RecallReport::add(const Facts& facts) {
  const std::lock_guard lock(mutex_);
  if (!facts_) {
    Facts first;
    first.target = facts.target;
    facts_ = first;
  }
  facts_->is_exact |= facts.is_exact;
  facts_->effort = std::max(facts_->effort, facts.effort);
  facts_->estimate = std::min(facts_->estimate, facts.estimate);
  if (facts.n_queries == 0) return;
  facts_->n_queries = facts.n_queries;
  facts_->source = facts.source;
  facts_->measured_at_ms = facts.measured_at_ms;
}

std::optional<RecallReport::Facts> RecallReport::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace quiver::engine
