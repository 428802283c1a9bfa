#include "cluster/background.h"

#include <utility>
#include <vector>

namespace quiver::cluster {

bool Background::start(const std::string& name, std::function<void()> task) {
  std::vector<std::thread> ended;
  bool begins = false;
  {
    MutexLock lock(mutex_);
    ended = take_ended();
    begins = !stopped_ && threads_.size() < n_most_ && !threads_.contains(name);
    if (begins) {
      threads_[name] = std::thread([this, name, task = std::move(task)] {
        task();
        MutexLock inside(mutex_);
        ended_.insert(name);
      });
    }
  }
  for (auto& thread : ended) thread.join();
  return begins;
}

bool Background::runs(const std::string& name) const {
  MutexLock lock(mutex_);
  return threads_.contains(name) && !ended_.contains(name);
}

void Background::stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    for (auto& [name, thread] : threads_) threads.push_back(std::move(thread));  // their names stay
  }
  for (auto& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

std::vector<std::thread> Background::take_ended() {
  std::vector<std::thread> ended;
  for (const auto& name : std::exchange(ended_, {})) {
    const auto found = threads_.find(name);
    if (found == threads_.end() || !found->second.joinable()) continue;
    ended.push_back(std::move(found->second));
    threads_.erase(found);
  }
  return ended;
}

}  // namespace quiver::cluster
