#include "engine/query/batcher.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/threads/parallel.h"
#include "engine/query/shared_pass.h"

namespace quiver::engine {
namespace {

/// Waiting searches that are examined for a pass.
constexpr std::size_t kMaxExaminedForCpu = 64;
constexpr std::size_t kMaxExaminedForDevice = 4096;

}  // namespace

Batcher::Kind Batcher::kind_of(const Waiting& waiting) {
  const Search& search = waiting.search;
  return {search.source.get(), search.planned->cost().is_for_device() && !waiting.is_alone};
}

void Batcher::add(Search search) {
  search.waiter->use_cancel(search.cancel);
  Group group;
  group.push_back({std::move(search)});
  const Kind kind = kind_of(group.front());
  {
    MutexLock lock(mutex_);
    auto& waiting = queues_[kind].waiting;
    waiting.splice(waiting.end(), group);
  }
  // One task per search. A task may find that another one took its search; then it takes other
  // searches, or none.
  answer_some_later(kind);
}

void Batcher::answer_some_later(Kind kind) {
  try {
    const auto self = shared_from_this();
    auto task = [self, kind] { self->answer_some(kind); };
    if (compute_.post(Priority::kHigh, std::move(task))) return;
  } catch (const std::bad_alloc&) {
    // No memory for a task.
  }
  answer_some(kind);
}

/// Adds waiting searches that can share the pass of the group's only one.
void Batcher::gather(Group& group, Group& waiting) {
  const Waiting& first = group.front();
  // A search that is given up already would only end the pass of the others.
  if (first.is_alone || first.search.cancel->poll()) return;
  const QueryCost& cost = first.search.planned->cost();
  const Searched where = cost.is_for_device() ? Searched::kOnDevice : Searched::kOnCpu;
  std::size_t n_left = cost.is_for_device() ? kMaxExaminedForDevice : kMaxExaminedForCpu;
  std::size_t most = cost.most_together;
  for (auto next = waiting.begin(); next != waiting.end() && n_left > 0; --n_left) {
    const auto other = next++;
    const Search& search = other->search;
    const PlannedQuery& planned = *search.planned;
    // A search with a filter takes part in smaller groups.
    const std::size_t most_with_it = std::min(most, planned.cost().most_together);
    if (other->is_alone || group.size() >= most_with_it || search.cancel->poll()) continue;
    if (!are_searched_alike(first.search.planned->query(), planned.query(), where)) continue;
    group.splice(group.end(), waiting, other);
    most = most_with_it;
    if (group.size() == most) break;
  }
}

Batcher::Group Batcher::take(Kind kind) {
  MutexLock lock(mutex_);
  Group group;
  const auto found = queues_.find(kind);
  if (found == queues_.end()) return group;
  auto& [waiting, n_at_device] = found->second;
  if (waiting.empty() || n_at_device == n_lanes_) return group;
  group.splice(group.end(), waiting, waiting.begin());
  gather(group, waiting);
  if (kind.is_for_device) {
    ++n_at_device;
  } else if (waiting.empty()) {
    queues_.erase(found);
  }
  return group;
}

void Batcher::leave_device(Kind kind) {
  if (!kind.is_for_device) return;
  {
    MutexLock lock(mutex_);
    const auto found = queues_.find(kind);
    Queue& queue = found->second;
    --queue.n_at_device;
    if (queue.waiting.empty()) {
      if (queue.n_at_device == 0) queues_.erase(found);
      return;
    }
  }
  // The tasks of the searches that wait may have come while no lane was free.
  answer_some_later(kind);
}

/// From a new snapshot, since the oldest search's would hide what younger ones must see. nullopt if
/// each search must be answered on its own: one of them failed, ran out of time or was cancelled,
/// or memory is short.
///
/// On the CPU the pass ends with the first search that ends: no answer comes after its time. A pass
/// of a device is short and has many searches. So it goes on for the others, and a search that
/// ended meanwhile gets its error with them.
std::optional<Batcher::Answers> Batcher::answer_together(const Group& group, bool is_for_device) {
  try {
    Deadline limit = group.front().search.cancel->deadline();
    std::vector<Query> queries;
    for (const auto& waiting : group) {
      const Deadline own = waiting.search.cancel->deadline();
      if (is_for_device ? own.when() > limit.when() : own.when() < limit.when()) limit = own;
      queries.push_back(waiting.search.planned->query());
    }
    const auto cancel = std::make_shared<const Cancel>(limit);
    for (const auto& waiting : group) {
      if (!is_for_device) waiting.search.waiter->use_cancel(cancel);
      waiting.search.waiter->begin();
    }
    auto found = group.front().search.source->query_batch(queries, *cancel);
    if (!found) return std::nullopt;
    Answers answers;
    auto records = found->begin();
    for (const auto& waiting : group) answers.push_back({&waiting.search, std::move(*records++)});
    return answers;
  } catch (...) {
    // The search that threw will throw again when it is answered on its own.
  }
  return std::nullopt;
}

void Batcher::deliver_one(Answered& answered) noexcept {
  const Search& search = *answered.search;
  try {
    Result<std::vector<Record>> records = std::move(answered.records);
    if (const auto in_time = search.cancel->check(); !in_time) records = fail(in_time.error());
    search.waiter->answer(std::move(records));
  } catch (...) {
    search.waiter->fail(std::current_exception());
  }
}

/// Writing answers takes long if there are many, so other threads help.
void Batcher::deliver(Answers answers) {
  const auto deliver_at = [&](std::size_t i) { deliver_one(answers[i]); };
  try {
    parallel_if_many(&compute_, answers.size(), deliver_at);
  } catch (const std::bad_alloc&) {
    // There was no memory for a loop of several threads, so that it did not begin.
    for (auto& answered : answers) deliver_one(answered);
  }
}

void Batcher::answer_each(const Group& group) {
  for (const auto& waiting : group) {
    const Search& search = waiting.search;
    try {
      search.waiter->begin();
      auto records = search.planned->run(*search.cancel);
      search.waiter->answer(std::move(records));
    } catch (...) {
      search.waiter->fail(std::current_exception());
    }
  }
}

void Batcher::answer_some(Kind kind) {
  Group group = take(kind);
  if (group.empty()) return;
  if (group.size() == 1) {
    answer_each(group);
    return leave_device(kind);
  }
  auto answers = answer_together(group, kind.is_for_device);
  leave_device(kind);
  if (answers) return deliver(*std::move(answers));
  answer_apart(std::move(group));
}

/// The searches that ended the pass are answered here, which takes no time. One thread for all the
/// others would make the last of them wait for as many searches, so they wait for any thread again.
void Batcher::answer_apart(Group group) {
  Group ended;
  for (auto next = group.begin(); next != group.end();) {
    const auto one = next++;
    one->is_alone = true;
    one->search.waiter->use_cancel(one->search.cancel);
    if (one->search.cancel->poll()) ended.splice(ended.end(), group, one);
  }
  answer_each(ended);
  wait_again(group);
  answer_each(group);
}

void Batcher::wait_again(Group& group) {
  if (group.empty()) return;
  const Kind kind = kind_of(group.front());
  const std::size_t n_searches = group.size();
  try {
    MutexLock lock(mutex_);
    Group& waiting = queues_[kind].waiting;
    waiting.splice(waiting.begin(), group);  // they have waited longest
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::size_t i = 0; i < n_searches; ++i) answer_some_later(kind);
}

}  // namespace quiver::engine
