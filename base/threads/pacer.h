// Makes a long task of low priority give way to the other threads of its process.
#pragma once

#include <chrono>

namespace quiver {

/// Halves the speed of a task while the other threads of this process work: each step is followed
/// by a sleep as long as its CPU time. A low priority alone is not enough. A thread that wakes on
/// the core of a running one may wait until the next tick of the scheduler, up to 4 ms.
///
/// Steps should take about 0.05 ms, since others wait for their end. One thread.
class Pacer {
 public:
  /// What a look at the clocks says. Only differences between two looks matter.
  struct Times {
    std::chrono::nanoseconds clock{};    ///< elapsed time
    std::chrono::nanoseconds own{};      ///< CPU time of this thread
    std::chrono::nanoseconds process{};  ///< CPU time of all threads, this one included
  };

  /// Begins the first step, on the thread that works. Assumes that others work.
  Pacer() : Pacer(now()) {}
  explicit Pacer(const Times& start) : looked_at_(start), step_start_(start.own) {}

  /// Ends a step, sleeps if others work, and begins the next.
  void rest();

  /// How long to sleep after a step that ended at `end`; it begins the next.
  [[nodiscard]] std::chrono::nanoseconds end_step(const Times& end);

 private:
  [[nodiscard]] static Times now();

  Times looked_at_;
  std::chrono::nanoseconds step_start_;  ///< CPU time of this thread
  bool others_work_ = true;
};

}  // namespace quiver
