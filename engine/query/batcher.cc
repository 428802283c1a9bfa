#include "engine/query/batcher.h"

#include <new>
#include <utility>

#include "engine/query/shared_pass.h"

namespace quiver::engine {
namespace {

/// The number of queries in a tile of the exact scan. A longer pass would only make the first
/// search wait for the last.
constexpr std::size_t kMaxSearchesPerPass = 8;
/// Waiting searches that are examined for a pass.
constexpr std::size_t kMaxSearchesExamined = 64;

}  // namespace

void Batcher::add(Search search) {
  const QuerySource* source = search.source.get();
  search.waiter->use_cancel(search.cancel);
  Group group;
  group.push_back({std::move(search)});
  {
    MutexLock lock(mutex_);
    auto& waiting = waiting_[source];
    waiting.splice(waiting.end(), group);
  }
  // One task per search. A task may find that another one took its search; then it takes other
  // searches, or none.
  answer_some_later(source);
}

void Batcher::answer_some_later(const QuerySource* source) {
  try {
    const auto self = shared_from_this();
    auto task = [self, source] { self->answer_some(source); };
    if (compute_.post(Priority::kHigh, std::move(task))) return;
  } catch (const std::bad_alloc&) {
    // No memory for a task.
  }
  answer_some(source);
}

Batcher::Group Batcher::take(const QuerySource* source) {
  MutexLock lock(mutex_);
  Group group;
  const auto found = waiting_.find(source);
  if (found == waiting_.end()) return group;
  Group& waiting = found->second;
  group.splice(group.end(), waiting, waiting.begin());
  const Waiting& first = group.front();
  // A search that is given up already would only end the pass of the others.
  const bool runs_alone = first.is_alone || first.search.cancel->poll();
  std::size_t n_examined = runs_alone ? kMaxSearchesExamined : 0;
  for (auto next = waiting.begin(); next != waiting.end() && n_examined < kMaxSearchesExamined;
       ++n_examined) {
    const auto other = next++;
    const Search& search = other->search;
    if (other->is_alone || search.cancel->poll()) continue;
    if (!are_searched_alike(first.search.planned->query(), search.planned->query())) continue;
    group.splice(group.end(), waiting, other);
    if (group.size() == kMaxSearchesPerPass) break;
  }
  if (waiting.empty()) waiting_.erase(found);
  return group;
}

/// From a new snapshot, since the oldest search's would hide what younger ones must see. nullopt if
/// each search must be answered on its own: one of them failed, ran out of time or was cancelled,
/// or memory is short.
std::optional<Batcher::Answers> Batcher::answer_together(const Group& group) {
  try {
    Deadline earliest = group.front().search.cancel->deadline();
    std::vector<Query> queries;
    for (const auto& waiting : group) {
      const Deadline own = waiting.search.cancel->deadline();
      if (own.when() < earliest.when()) earliest = own;
      queries.push_back(waiting.search.planned->query());
    }
    const auto cancel = std::make_shared<const Cancel>(earliest);
    for (const auto& waiting : group) {
      waiting.search.waiter->use_cancel(cancel);
      waiting.search.waiter->begin();
    }
    auto answers = group.front().search.source->query_batch(queries, *cancel);
    if (answers) return *std::move(answers);
  } catch (...) {
    // The search that threw will throw again when it is answered on its own.
  }
  return std::nullopt;
}

void Batcher::deliver(const Group& group, Answers answers) {
  auto answer = answers.begin();
  for (const auto& waiting : group) waiting.search.waiter->answer(std::move(*answer++));
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

void Batcher::answer_some(const QuerySource* source) {
  Group group = take(source);
  if (group.size() < 2) return answer_each(group);
  auto answers = answer_together(group);
  if (answers) return deliver(group, *std::move(answers));
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
  const QuerySource* source = group.front().search.source.get();
  const std::size_t n_searches = group.size();
  try {
    MutexLock lock(mutex_);
    Group& waiting = waiting_[source];
    waiting.splice(waiting.begin(), group);  // they have waited longest
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::size_t i = 0; i < n_searches; ++i) answer_some_later(source);
}

}  // namespace quiver::engine
