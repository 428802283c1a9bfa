#include "base/threads/executor.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>

#include "base/check.h"
#include "base/observe/failure.h"

namespace quiver {
namespace {

/// The executor that owns the current thread.
thread_local const Executor* current_executor = nullptr;

/// The state of one `parallel_for`. Helpers share it, because they may start after the caller has
/// returned. Then `next >= n`, and they touch neither `fn` nor anything else of the caller.
struct Loop {
  std::size_t n;
  void* fn;
  void (*call)(void*, std::size_t);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> n_done = 0;

  Mutex mutex;
  CondVar all_done;
  std::exception_ptr first_exception QV_GUARDED_BY(mutex);

  void work() {
    for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      try {
        call(fn, i);
      } catch (...) {
        MutexLock lock(mutex);
        if (!first_exception) first_exception = std::current_exception();
      }
      if (n_done.fetch_add(1) + 1 == n) {
        MutexLock lock(mutex);
        all_done.notify_all();
      }
    }
  }
  [[nodiscard]] std::exception_ptr wait() {
    MutexLock lock(mutex);
    while (n_done.load() != n) all_done.wait(mutex);
    return first_exception;
  }
};

}  // namespace

Executor::Executor(std::size_t n_threads, std::string name, int nice)
    : n_threads_(n_threads != 0 ? n_threads : std::max(1U, std::thread::hardware_concurrency())),
      max_low_(std::max<std::size_t>(1, n_threads_ - 1)),
      name_(std::move(name)),
      nice_(nice) {
  threads_.reserve(n_threads_);
  for (std::size_t i = 0; i < n_threads_; ++i) threads_.emplace_back([this, i] { work(i); });
}

Executor::~Executor() { stop(); }

bool Executor::post(Priority priority, Task task) noexcept {
  {
    MutexLock lock(mutex_);
    if (closed_) return false;
    (priority == Priority::kHigh ? high_ : low_).push(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void Executor::run_loop(std::size_t n, void* fn, void (*call)(void*, std::size_t),
                        Priority priority) {
  if (n == 0) return;
  if (n == 1) return call(fn, 0);
  auto loop = std::make_shared<Loop>();
  loop->n = n;
  loop->fn = fn;
  loop->call = call;
  try {
    for (std::size_t i = 0; i < std::min(n - 1, n_threads_); ++i) {
      if (!post(priority, [loop] { loop->work(); })) break;
    }
  } catch (const std::bad_alloc&) {
    // Goes on with fewer helpers. Those already posted use the caller's state, so it must wait for
    // them.
  }
  loop->work();
  if (const auto exception = loop->wait()) std::rethrow_exception(exception);
}

void Executor::stop() {
  QV_CHECK(current_executor != this);
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

std::size_t Executor::n_queued(Priority priority) const {
  MutexLock lock(mutex_);
  return (priority == Priority::kHigh ? high_ : low_).size();
}

void Executor::work(std::size_t thread_number) {
  current_executor = this;
  pthread_setname_np(pthread_self(), fmt::format("{:.11}-{}", name_, thread_number % 1000).c_str());
  if (nice_ != 0) (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), nice_);
  Priority priority{};
  while (Task task = next_task(priority)) {
    run_logged("a task of an executor threw", task);
    task = Task();  // frees its captures before it counts as done
    task_done(priority);
  }
}

Task Executor::next_task(Priority& priority) {
  MutexLock lock(mutex_);
  while (high_.empty() && !(can_run_low() && !low_.empty())) {
    if (stopping_ && n_running_ == 0) {  // then nothing is queued, and no task is left to post one
      closed_ = true;
      wake_.notify_all();
      return {};
    }
    wake_.wait(mutex_);
  }
  priority = high_.empty() ? Priority::kLow : Priority::kHigh;
  auto& queue = priority == Priority::kHigh ? high_ : low_;
  Task task = queue.pop();
  ++n_running_;
  if (priority == Priority::kLow) ++n_running_low_;
  return task;
}

void Executor::task_done(Priority priority) {
  MutexLock lock(mutex_);
  --n_running_;
  if (priority == Priority::kLow) --n_running_low_;
}

bool Executor::can_run_low() const { return n_running_low_ < max_low_; }

}  // namespace quiver
