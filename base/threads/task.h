// A `void()` callable, owned, movable and not copyable (unlike std::function), and a queue of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace quiver {

class Task {
 public:
  /// The callable of a task, and its link in the one queue that may hold it.
  class Callable {
   public:
    Callable() = default;
    Callable(const Callable&) = delete;
    Callable& operator=(const Callable&) = delete;
    virtual ~Callable() = default;
    virtual void call() = 0;
    /// Called when the task is destroyed, whether it ran or not.
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
  /// A task that runs `callable` without owning it, and so allocates nothing. One task per callable
  /// at a time.
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

/// First in, first out. Allocates nothing: queueing an existing task cannot fail.
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

  /// `task` must not be empty.
  void push(Task task) noexcept {
    Task::Callable* const added = task.callable_.release();
    added->next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = added;
    last_ = added;
    ++size_;
  }
  /// The queue must not be empty.
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
  Task::Callable* last_ = nullptr;  ///< valid if the queue is not empty
  std::size_t size_ = 0;
};

}  // namespace quiver
