// A mutex that clang's thread-safety analysis understands (libstdc++'s is not annotated).
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define QV_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define QV_THREAD_ATTRIBUTE(x)
#endif

#define QV_CAPABILITY(x) QV_THREAD_ATTRIBUTE(capability(x))
#define QV_SCOPED_CAPABILITY QV_THREAD_ATTRIBUTE(scoped_lockable)
#define QV_GUARDED_BY(x) QV_THREAD_ATTRIBUTE(guarded_by(x))
#define QV_REQUIRES(...) QV_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define QV_ACQUIRE(...) QV_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define QV_RELEASE(...) QV_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define QV_EXCLUDES(...) QV_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define QV_NO_THREAD_SAFETY_ANALYSIS QV_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace quiver {

class QV_CAPABILITY("mutex") Mutex {
 public:
  void lock() QV_ACQUIRE() { mutex_.lock(); }
  void unlock() QV_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds `mutex` for a scope. Never hold it across I/O, a callback or a `co_await`.
class QV_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) QV_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() QV_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Condition variable over `Mutex`. The caller holds the mutex and loops on its condition.
class CondVar {
 public:
  void wait(Mutex& mutex) QV_REQUIRES(mutex) { condition_.wait(mutex); }
  template <class Duration>
  bool wait_for(Mutex& mutex, const Duration& duration) QV_REQUIRES(mutex) {
    return condition_.wait_for(mutex, duration) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace quiver
