// The answer of the first of several nodes, kept for whoever asked them.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace quiver::cluster {

/// For `Node::ask_holders`. Thread-safe.
template <class T>
class FirstAnswer {
 public:
  /// Later ones are dropped. Returns true: no other is wanted.
  bool keep(T answer) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!answer_) answer_ = std::move(answer);
    return true;
  }
  /// Returns false: another may have an answer.
  bool miss(std::string reason) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    trouble_ = std::move(reason);
    return false;
  }
  /// Once, after `keep`.
  [[nodiscard]] T take() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return *std::move(answer_);
  }
  /// Why the last one that failed did; `none`: nobody was asked.
  [[nodiscard]] std::string trouble(const std::string& none) const QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return trouble_.value_or(none);
  }

 private:
  mutable Mutex mutex_;
  std::optional<T> answer_ QV_GUARDED_BY(mutex_);
  std::optional<std::string> trouble_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::cluster
