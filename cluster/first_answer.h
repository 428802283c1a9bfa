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
  /// An error that another node may not have: it counts if there is nothing better. Returns false.
  bool spare(T answer) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!spare_) spare_ = std::move(answer);
    return false;
  }
  /// Returns false: another may have an answer.
  bool miss(std::string reason) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    trouble_ = std::move(reason);
    return false;
  }
  /// Once, when all that was asked for is over. nullopt: no node has answered.
  [[nodiscard]] std::optional<T> take() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::exchange(answer_ ? answer_ : spare_, std::nullopt);
  }
  /// Why the last one that failed did; `none`: nobody was asked.
  [[nodiscard]] std::string trouble(const std::string& none) const QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return trouble_.value_or(none);
  }

 private:
  mutable Mutex mutex_;
  std::optional<T> answer_ QV_GUARDED_BY(mutex_);
  std::optional<T> spare_ QV_GUARDED_BY(mutex_);
  std::optional<std::string> trouble_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::cluster
