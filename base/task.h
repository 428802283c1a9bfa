// A `void()` to be run once or more, owned and movable but not copyable (unlike std::function).
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace quiver {

class Task {
 public:
  Task() = default;
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Task> && std::invocable<std::decay_t<F>&>)
      Task(F&& function)  // NOLINT(google-explicit-constructor): lambdas are passed as tasks
      : callable_(std::make_unique<Holder<std::decay_t<F>>>(std::forward<F>(function))) {}

  void operator()() { callable_->call(); }
  explicit operator bool() const { return callable_ != nullptr; }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual void call() = 0;
  };
  template <class F>
  struct Holder final : Callable {
    template <class G>
    explicit Holder(G&& g) : function(std::forward<G>(g)) {}
    void call() override { function(); }
    F function;
  };

  std::unique_ptr<Callable> callable_;
};

}  // namespace quiver
