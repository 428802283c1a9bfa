// The current snapshot of a value: one writer replaces it, readers keep the one they loaded.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"

namespace quiver {

/// Uses a mutex, because ThreadSanitizer reports a data race inside libstdc++ 12's
/// std::atomic<std::shared_ptr>. One uncontended lock per query is not measurable.
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
