// Work of a node that takes long, beside its look at the ledger.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace quiver::cluster {

/// Tasks, each on a thread of its own, at most one of a name and `n_most` together. Thread-safe.
class Background {
 public:
  explicit Background(std::size_t n_most) : n_most_(n_most) {}
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Begins `task` and returns true. False: one of this name runs, or too many others do, or
  /// `stop` was called. `task` must not throw, nor call this.
  bool start(const std::string& name, std::function<void()> task) QV_EXCLUDES(mutex_);
  [[nodiscard]] bool runs(const std::string& name) const QV_EXCLUDES(mutex_);
  /// Waits for what runs; nothing begins afterwards.
  void stop() QV_EXCLUDES(mutex_);

 private:
  /// Threads whose tasks are over.
  [[nodiscard]] std::vector<std::thread> take_ended() QV_REQUIRES(mutex_);

  const std::size_t n_most_;
  mutable Mutex mutex_;
  bool stopped_ QV_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::thread> threads_ QV_GUARDED_BY(mutex_);
  std::set<std::string> ended_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::cluster
