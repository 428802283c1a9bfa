// Admits many callers at once, or one caller alone.
#pragma once

#include <chrono>

#include "base/mutex.h"

namespace quiver::storage {

/// Unlike a shared mutex, it holds no lock while a caller is inside. A caller that wants to be
/// alone gives up after a while. So a caller that waits for itself is refused instead of stuck.
class Gate {
 public:
  /// Waits while someone is alone or waits to be. False if the gate is closed for good.
  bool enter() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (reserved_ && !closed_) changed_.wait(mutex_);
    if (closed_) return false;
    ++n_inside_;
    return true;
  }
  void leave() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (--n_inside_ == 0) changed_.notify_all();
  }

  /// Returns true when nobody else is inside, and keeps others out until `release`. False after
  /// `patience`.
  bool reserve(std::chrono::milliseconds patience) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_ || reserved_) return false;
    reserved_ = true;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (n_inside_ > 0 && !closed_) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= left.zero()) break;
      changed_.wait_for(mutex_, left);
    }
    if (n_inside_ == 0 && !closed_) return true;
    end_reservation();
    return false;
  }
  void release() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    end_reservation();
  }

  /// Closes the gate and returns when nobody is inside. False if it was already closed.
  bool close() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return false;
    closed_ = true;
    changed_.notify_all();
    while (n_inside_ > 0 || reserved_) changed_.wait(mutex_);
    return true;
  }

 private:
  void end_reservation() QV_REQUIRES(mutex_) {
    reserved_ = false;
    changed_.notify_all();
  }

  Mutex mutex_;
  CondVar changed_;
  int n_inside_ QV_GUARDED_BY(mutex_) = 0;
  bool reserved_ QV_GUARDED_BY(mutex_) = false;
  bool closed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::storage
