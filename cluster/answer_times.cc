#include "cluster/answer_times.h"

#include <algorithm>

namespace quiver::cluster {
namespace {

constexpr std::chrono::milliseconds kSlowBy{20};
constexpr int kSlowTimes = 3;
constexpr std::chrono::seconds kTrySlowAgain{30};
constexpr std::chrono::seconds kDoubted{30};
constexpr std::chrono::seconds kFailure{1};

AnswerTimes::Clock::duration slow_beside(AnswerTimes::Clock::duration fastest) {
  return kSlowTimes * fastest + kSlowBy;
}

}  // namespace

AnswerTimes::Clock::duration AnswerTimes::Times::least() const {
  return *std::ranges::min_element(last);
}

void AnswerTimes::begin(const NodeAddress& node, Clock::time_point now) {
  MutexLock lock(mutex_);
  Times& times = of_[node.peer];
  times.asked_at = now;
  if (times.n_open++ == 0) times.silent_since = now;
}

void AnswerTimes::note(const NodeAddress& node, std::optional<Clock::duration> took,
                       Clock::time_point now) {
  MutexLock lock(mutex_);
  Times& times = of_[node.peer];
  if (times.n_open > 0) --times.n_open;
  times.silent_since = now;
  if (took.value_or(kFailure) > slow_beside(least_of_all())) times.late_at = now;
  times.last[times.next] = std::max(took.value_or(kFailure), Clock::duration(1));
  times.next = (times.next + 1) % kKept;
}

AnswerTimes::Clock::duration AnswerTimes::least_of_all() const {
  const auto least = [](const auto& item) { return item.second.least(); };
  return least(*std::ranges::min_element(of_, {}, least));
}

const AnswerTimes::Times* AnswerTimes::find(const NodeAddress& node) const {
  const auto found = of_.find(node.peer);
  return found == of_.end() ? nullptr : &found->second;
}

std::optional<AnswerTimes::Clock::duration> AnswerTimes::order(std::vector<NodeAddress>& nodes,
                                                               Clock::time_point now) const {
  if (nodes.size() < 2) return std::nullopt;
  MutexLock lock(mutex_);
  if (of_.empty()) return std::nullopt;
  const auto least_of = [this](const NodeAddress& node) QV_NO_THREAD_SAFETY_ANALYSIS {
    const Times* times = find(node);
    return times == nullptr ? Clock::duration(0) : times->least();
  };
  const NodeAddress& fastest = *std::ranges::min_element(nodes, {}, least_of);
  const auto slow = slow_beside(least_of(fastest));
  const auto is_silent = [&](const NodeAddress& node) QV_NO_THREAD_SAFETY_ANALYSIS {
    const Times* times = find(node);
    return times != nullptr && times->n_open > 0 && now - times->silent_since > slow;
  };
  std::stable_partition(nodes.begin(), nodes.end(), [&](const auto& node) {
    return least_of(node) <= slow && !is_silent(node);
  });
  const auto is_due = [&](const NodeAddress& node) QV_NO_THREAD_SAFETY_ANALYSIS {
    return least_of(node) > slow && now - find(node)->asked_at >= kTrySlowAgain;
  };
  const auto due = std::ranges::find_if(nodes, is_due);
  if (due != nodes.end()) std::rotate(nodes.begin(), due, due + 1);
  const Times* first = find(nodes.front());
  const bool is_doubted = first != nullptr && first->late_at && now - *first->late_at <= kDoubted;
  return due != nodes.end() || is_doubted ? std::optional(slow) : std::nullopt;
}

}  // namespace quiver::cluster
