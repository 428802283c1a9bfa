// A `void()` to be run once or more, owned and movable but not copyable (unlike std::function), and
// a queue of such.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace quiver {

class Task {
 public:
  /// What a task runs, and its link in the one queue that it may be in.
  class Callable {
   public:
    Callable() = default;
    Callable(const Callable&) = delete;
    Callable& operator=(const Callable&) = delete;
    virtual ~Callable() = default;
    virtual void call() = 0;
    /// The task is gone; it may or may not have run.
    virtual void release() noexcept = 0;

   private:
    friend class TaskQueue;
    Callable* next_ = nullptr;
  };

  Task() = default;
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Task> && std::invocable<std::decay_t<F>&>)
      Task(F&& function)  // NOLINT(google-explicit-constructor): lambdas are passed as tasks
      : callable_(new Holder<std::decay_t<F>>(std::forward<F>(function))) {}
  /// Runs `callable`, which is not owned: a task that takes no memory. One at a time of each.
  [[nodiscard]] static Task borrow(Callable& callable) noexcept {
    Task task;
    task.callable_.reset(&callable);
    return task;
  }

  void operator()() { callable_->call(); }
  explicit operator bool() const { return callable_ != nullptr; }

 private:
  friend class TaskQueue;
  struct Release {
    void operator()(Callable* callable) const noexcept { callable->release(); }
  };
  template <class F>
  struct Holder final : Callable {
    template <class G>
    explicit Holder(G&& g) : function(std::forward<G>(g)) {}
    void call() override { function(); }
    void release() noexcept override { delete this; }
    F function;
  };

  std::unique_ptr<Callable, Release> callable_;
};

/// First in, first out. Takes no memory: a task that there is can always be queued.
class TaskQueue {
 public:
  TaskQueue() = default;
  TaskQueue(TaskQueue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  TaskQueue& operator=(TaskQueue&&) = delete;
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;
  ~TaskQueue() {
    while (!empty()) pop();
  }

  /// `task` is not an empty one.
  void push(Task task) noexcept {
    Task::Callable* const added = task.callable_.release();
    added->next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = added;
    last_ = added;
    ++size_;
  }
  /// The queue is not empty.
  Task pop() noexcept {
    Task task = Task::borrow(*first_);
    first_ = first_->next_;
    --size_;
    return task;
  }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  Task::Callable* first_ = nullptr;
  Task::Callable* last_ = nullptr;  ///< if there is a first
  std::size_t size_ = 0;
};

}  // namespace quiver
