#include "service/shared_passes.h"

#include <new>
#include <utility>

#include "engine/query/shared_pass.h"

namespace quiver::service {
namespace {

/// As many as a tile of the exact scan has; more would only make the first wait for the last.
constexpr std::size_t kMostTogether = 8;
/// How far down the queue others are looked for.
constexpr std::size_t kLooks = 64;

}  // namespace

Answer SharedPasses::add(Exchange& x, Search search) {
  const engine::Collection* collection = search.collection.get();
  x.set_cancel(search.cancel);
  x.defer();
  Group group;
  group.push_back({&x, std::move(search)});
  {
    MutexLock lock(mutex_);
    auto& waiting = waiting_[collection];
    waiting.splice(waiting.end(), group);
  }
  // One task for each search: those whose search was taken along find nothing, or others.
  answer_some_later(collection);
  return Answer::kLater;
}

void SharedPasses::answer_some_later(const engine::Collection* collection) {
  try {
    const auto self = shared_from_this();
    auto task = [self, collection] { self->answer_some(collection); };
    if (compute_.post(Priority::kHigh, std::move(task))) return;
  } catch (const std::bad_alloc&) {
    // No memory for a task.
  }
  answer_some(collection);
}

SharedPasses::Group SharedPasses::take(const engine::Collection* collection) {
  MutexLock lock(mutex_);
  Group group;
  const auto found = waiting_.find(collection);
  if (found == waiting_.end()) return group;
  Group& waiting = found->second;
  group.splice(group.end(), waiting, waiting.begin());
  const Waiting& first = group.front();
  // Those that are given up already would only end the pass of the others.
  std::size_t n_looks = first.is_alone || first.search.cancel->poll() ? kLooks : 0;
  for (auto next = waiting.begin(); next != waiting.end() && n_looks < kLooks; ++n_looks) {
    const auto other = next++;
    const Search& search = other->search;
    if (other->is_alone || search.cancel->poll()) continue;
    if (!engine::are_searched_alike(first.search.query, search.query)) continue;
    group.splice(group.end(), waiting, other);
    if (group.size() == kMostTogether) break;
  }
  if (waiting.empty()) waiting_.erase(found);
  return group;
}

/// nullopt: each is to be answered on its own, be it that one cannot be, that its time is over,
/// that its client has gone, or that memory is short.
std::optional<SharedPasses::Answers> SharedPasses::answer_together(const Group& group) {
  try {
    Deadline first = group.front().search.cancel->deadline();
    std::vector<engine::Query> queries;
    for (const auto& waiting : group) {
      const Deadline own = waiting.search.cancel->deadline();
      if (own.when() < first.when()) first = own;
      queries.push_back(waiting.search.query);
    }
    const auto cancel = std::make_shared<const Cancel>(first);
    for (const auto& waiting : group) waiting.x->set_cancel(cancel);
    auto answers = group.front().search.collection->query_batch(queries, *cancel);
    if (answers) return *std::move(answers);
  } catch (...) {
    // Of which search it is will show.
  }
  return std::nullopt;
}

void SharedPasses::write(const Group& group, const Answers& answers) {
  auto answer = answers.begin();
  for (const auto& waiting : group) {
    auto work = [&](Exchange& x) -> Decoded<Answer> {
      waiting.search.write(x, *answer);
      return Answer::kReady;
    };
    waiting.x->run(work);
    ++answer;
  }
}

void SharedPasses::answer_each(const Group& group) {
  for (const auto& waiting : group) {
    auto work = [&](Exchange& x) -> Decoded<Answer> {
      const Search& search = waiting.search;
      QV_TRY(const auto records, search.collection->query(search.query, *search.cancel));
      search.write(x, records);
      return Answer::kReady;
    };
    waiting.x->run(work);
  }
}

void SharedPasses::answer_some(const engine::Collection* collection) {
  Group group = take(collection);
  if (group.size() < 2) return answer_each(group);
  const auto answers = answer_together(group);
  if (answers) return write(group, *answers);
  part(std::move(group));
}

/// Those that ended it are answered here, which takes no time. One thread for all the others would
/// have the last of them wait for as many searches: they wait for any thread again.
void SharedPasses::part(Group group) {
  Group ended;
  for (auto next = group.begin(); next != group.end();) {
    const auto one = next++;
    one->is_alone = true;
    one->x->set_cancel(one->search.cancel);
    if (one->search.cancel->poll()) ended.splice(ended.end(), group, one);
  }
  answer_each(ended);
  wait_again(group);
  answer_each(group);
}

void SharedPasses::wait_again(Group& group) {
  if (group.empty()) return;
  const engine::Collection* collection = group.front().search.collection.get();
  const std::size_t n = group.size();
  try {
    MutexLock lock(mutex_);
    Group& waiting = waiting_[collection];
    waiting.splice(waiting.begin(), group);  // they have waited longest
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::size_t i = 0; i < n; ++i) answer_some_later(collection);
}

}  // namespace quiver::service
