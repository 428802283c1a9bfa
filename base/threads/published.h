// The current snapshot of something: one writer replaces it, readers keep what they took.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"

namespace quiver {

/// Not std::atomic<std::shared_ptr>: libstdc++ 12's own implementation is a data race under
/// ThreadSanitizer, and one uncontended lock per query costs nothing.
template <class T>
class Published {
 public:
  Published() = default;
  explicit Published(std::shared_ptr<const T> value) : value_(std::move(value)) {}

  [[nodiscard]] std::shared_ptr<const T> load() const {
    MutexLock lock(mutex_);
    return value_;
  }
  /// The old snapshot is released outside the lock.
  void store(std::shared_ptr<const T> value) {
    MutexLock lock(mutex_);
    value_.swap(value);
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver
