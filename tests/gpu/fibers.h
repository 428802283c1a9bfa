// Fibers: many threads on one thread of the operating system. Each runs until it waits, so a switch
// costs little.
//
// ThreadSanitizer takes each fiber for a thread, and no switch for something that orders them: it
// finds the races that real threads would have. What fibers and scheduler share is atomic for its
// sake.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace quiver::testing {

class Fibers {
 public:
  Fibers() = default;
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers() {
#ifdef __SANITIZE_THREAD__
    for (const auto& fiber : fibers_) __tsan_destroy_fiber(fiber->checked);
#endif
  }

  /// Runs work(0) to work(n - 1), each on a fiber; returns when all have ended. They take turns in
  /// a random order. Ends the process if all wait.
  void run(unsigned n, const std::function<void(unsigned)>& work) {
    active_.store(this, std::memory_order_relaxed);
    while (fibers_.size() < n) add_fiber();
    std::vector<Fiber*> under_way;
    for (unsigned i = 0; i < n; ++i) under_way.push_back(fibers_[i].get());
    std::shuffle(under_way.begin(), under_way.end(), random_);
    for (Fiber* fiber : under_way) fiber->has_ended.store(false, std::memory_order_relaxed);
    work_.store(&work, std::memory_order_release);
    while (!under_way.empty()) take_turns(under_way);
  }

  /// The number of the fiber that calls it.
  unsigned index() const { return current_.load(std::memory_order_relaxed)->index; }

  /// A fiber calls it: all others have a turn.
  void yield() {
    go_on(*current_.load(std::memory_order_relaxed), scheduler_);
    has_progress_.store(true, std::memory_order_relaxed);
  }

  /// A fiber calls it: the others run until `is_true()`.
  template <class Condition>
  void wait_until(Condition is_true) {
    while (!is_true()) go_on(*current_.load(std::memory_order_relaxed), scheduler_);
    has_progress_.store(true, std::memory_order_relaxed);
  }

 private:
  struct Context {
    jmp_buf registers;
    // For sanitizers: what is taken for a thread, its stack, its variables that are kept elsewhere.
    void* checked = nullptr;
    const void* stack_bytes = nullptr;
    std::size_t n_stack_bytes = 0;
    void* variables = nullptr;
  };
  struct Fiber : Context {
    explicit Fiber(unsigned number) : index(number) {
      stack_bytes = stack.get();
      n_stack_bytes = kStackBytes;
    }
    const unsigned index;
    const std::unique_ptr<std::byte[]> stack =
        std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    std::atomic<bool> has_ended = true;
  };
  static constexpr std::size_t kStackBytes = 256 * 1024;

  void add_fiber() {
    Fiber& fiber = *fibers_.emplace_back(std::make_unique<Fiber>(fibers_.size()));
#ifdef __SANITIZE_THREAD__
    if (scheduler_.checked == nullptr) scheduler_.checked = __tsan_get_current_fiber();
    fiber.checked = __tsan_create_fiber(0);
#endif
    ucontext_t start;
    getcontext(&start);
    start.uc_stack.ss_sp = fiber.stack.get();
    start.uc_stack.ss_size = kStackBytes;
    makecontext(
        &start, [] { active_.load(std::memory_order_relaxed)->run_fiber(); }, 0);
    current_.store(&fiber, std::memory_order_relaxed);
    if (_setjmp(scheduler_.registers) != 0) return arrive(scheduler_);
    leave(scheduler_, fiber);
    setcontext(&start);
  }

  /// The fiber's own code: it never returns, as the next run needs it again.
  void run_fiber() {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_.stack_bytes, &scheduler_.n_stack_bytes);
#endif
    Fiber& self = *current_.load(std::memory_order_relaxed);
    go_on(self, scheduler_);
    while (true) {
      (*work_.load(std::memory_order_acquire))(self.index);
      self.has_ended.store(true, std::memory_order_release);
      go_on(self, scheduler_);
    }
  }

  void take_turns(std::vector<Fiber*>& under_way) {
    has_progress_.store(false, std::memory_order_relaxed);
    for (Fiber* fiber : under_way) {
      current_.store(fiber, std::memory_order_relaxed);
      go_on(scheduler_, *fiber);
    }
    const auto n_ended = std::erase_if(under_way, [](const Fiber* fiber) {
      return fiber->has_ended.load(std::memory_order_acquire);
    });
    if (n_ended > 0 || has_progress_.load(std::memory_order_relaxed)) return;
    std::fputs("all fibers wait for each other\n", stderr);
    std::abort();
  }

  /// Unlike swapcontext(), these ask nothing of the kernel.
  static void go_on(Context& from, Context& to) {
    if (_setjmp(from.registers) != 0) return arrive(from);
    leave(from, to);
    _longjmp(to.registers, 1);
  }

  static void leave([[maybe_unused]] Context& from, [[maybe_unused]] const Context& to) {
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to.checked, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from.variables, to.stack_bytes, to.n_stack_bytes);
#endif
  }
  static void arrive([[maybe_unused]] const Context& here) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(here.variables, nullptr, nullptr);
#endif
  }

  /// Whose fibers run: a fiber that starts is given no arguments.
  static inline std::atomic<Fibers*> active_ = nullptr;

  std::mt19937 random_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Context scheduler_;
  std::atomic<Fiber*> current_ = nullptr;
  std::atomic<const std::function<void(unsigned)>*> work_ = nullptr;
  std::atomic<bool> has_progress_ = false;
};

}  // namespace quiver::testing
