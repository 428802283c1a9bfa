#include "service/http/collection_answers.h"

#include <vector>

namespace quiver::service {

void CollectionAnswers::count(const std::string& collection, std::string_view route, int status,
                              double seconds) {
  MutexLock lock(mutex_);
  auto known = collections_.find(collection);
  if (known == collections_.end()) {
    if (collections_.size() >= kMaxCollections) return;
    known = collections_.emplace(collection, ByRoute()).first;
  }
  auto& counted = known->second[route][status];
  if (counted == nullptr) counted = std::make_unique<Counted>();
  counted->times.add(seconds);
}

std::map<std::string, CollectionAnswers::Answers> CollectionAnswers::summaries(
    const std::function<bool(const std::string&)>& is_known) {
  std::vector<std::string> names;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, routes] : collections_) names.push_back(name);
  }
  std::erase_if(names, is_known);  // what is left is gone
  MutexLock lock(mutex_);
  for (const auto& name : names) collections_.erase(name);
  std::map<std::string, Answers> all;
  for (const auto& [name, routes] : collections_) {
    for (const auto& [route, statuses] : routes) {
      for (const auto& [status, counted] : statuses) {
        all[name][route][status] = counted->times.summary();
      }
    }
  }
  return all;
}

}  // namespace quiver::service
