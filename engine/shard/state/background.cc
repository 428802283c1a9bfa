#include "engine/shard/state/background.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/observe/failure.h"

namespace quiver::engine {

void Background::run(Priority priority, JobKind kind, std::function<Result<>()> work,
                     std::function<void(Result<>)> finish) {
  // All memory is taken before anything runs.
  std::list<JobKind> entry{kind};
  const auto place = entry.begin();
  auto outcome = std::make_shared<Result<>>();
  Task last([finish = std::move(finish), outcome] { finish(std::move(*outcome)); });
  Task task([this, work = std::move(work), last = std::move(last), outcome, place]() mutable {
    *outcome = guarded(work);
    lane_.post(std::move(last));
    end(place);
  });
  {
    MutexLock lock(mutex_);
    running_.splice(running_.end(), entry);
  }
  if (!executor_.post(priority, std::move(task))) end(place);
}

void Background::end(std::list<JobKind>::iterator place) noexcept {
  MutexLock lock(mutex_);
  running_.erase(place);
  ended_.notify_all();
}

bool Background::wait_for(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  MutexLock lock(mutex_);
  while (!running_.empty()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    ended_.wait_for(mutex_, left);
  }
  return true;
}

std::string Background::running() {
  std::vector<std::string_view> names;
  MutexLock lock(mutex_);
  for (const JobKind kind : running_) names.push_back(to_string(kind));
  return names.empty() ? "updates" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace quiver::engine
