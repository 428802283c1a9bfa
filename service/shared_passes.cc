#include "service/shared_passes.h"

#include <exception>
#include <utility>

#include "engine/search.h"

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
  {
    MutexLock lock(mutex_);
    waiting_[collection].push_back({&x, std::move(search)});
  }
  // One task for each search: those whose search was taken along find nothing, or others.
  const auto self = shared_from_this();
  if (!compute_.post(Priority::kHigh, [self, collection] { self->answer_some(collection); })) {
    answer_some(collection);  // the server is closing: here, then
  }
  return Answer::kLater;
}

SharedPasses::Group SharedPasses::take(const engine::Collection* collection) {
  MutexLock lock(mutex_);
  Group group;
  group.reserve(kMostTogether);  // `first` stays where it is
  const auto found = waiting_.find(collection);
  if (found == waiting_.end()) return group;
  auto& waiting = found->second;
  group.push_back(std::move(waiting.front()));
  waiting.pop_front();
  const Search& first = group[0].search;
  // Those that are given up already would only end the pass of the others.
  std::size_t n_looks = first.cancel->poll() ? kLooks : 0;
  for (auto next = waiting.begin(); next != waiting.end() && n_looks < kLooks; ++n_looks) {
    const Search& other = next->search;
    if (!engine::are_searched_alike(first.query, other.query) || other.cancel->poll()) {
      ++next;
      continue;
    }
    group.push_back(std::move(*next));
    next = waiting.erase(next);
    if (group.size() == kMostTogether) break;
  }
  if (waiting.empty()) waiting_.erase(found);
  return group;
}

/// nullopt: each is to be answered on its own, be it that one cannot be, that its time is over, or
/// that its client has gone.
std::optional<SharedPasses::Answers> SharedPasses::answer_together(const Group& group) {
  if (group.size() < 2) return std::nullopt;
  Deadline first = group[0].search.cancel->deadline();
  std::vector<engine::Query> queries;
  for (const auto& [x, search] : group) {
    const Deadline own = search.cancel->deadline();
    if (own.when() < first.when()) first = own;
    queries.push_back(search.query);
  }
  const auto cancel = std::make_shared<const Cancel>(first);
  for (const auto& waiting : group) waiting.x->set_cancel(cancel);
  try {
    auto answers = group[0].search.collection->query_batch(queries, *cancel);
    if (answers) return *std::move(answers);
  } catch (const std::exception&) {
    // Of which search it is will show.
  }
  return std::nullopt;
}

void SharedPasses::answer_some(const engine::Collection* collection) {
  const Group group = take(collection);
  if (group.empty()) return;
  const auto answers = answer_together(group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    auto work = [&](Exchange& x) -> Decoded<Answer> {
      const Search& search = group[i].search;
      if (answers) {
        search.write(x, (*answers)[i]);
        return Answer::kReady;
      }
      x.set_cancel(search.cancel);
      QV_TRY(const auto records, search.collection->query(search.query, *search.cancel));
      search.write(x, records);
      return Answer::kReady;
    };
    group[i].x->run(work);
  }
}

}  // namespace quiver::service
