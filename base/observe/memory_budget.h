// The limit of the memory that this process holds for itself.
//
// What counts is private memory: rows that are not in files yet, buffers of builds, bodies of
// requests, answers, caches. Pages of mapped files do not count: the system takes them back when it
// needs them.
//
// The private memory is read from the system, at most every few milliseconds. Between two readings
// what was granted is added. Jobs that take their memory slowly are promised it for their whole
// time, so what they already hold counts twice. That errs on the safe side.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace quiver {

/// Private memory of this process in bytes; 0 if it is unknown.
[[nodiscard]] std::uint64_t private_memory_bytes();
/// The limit where none is configured: four fifths of what the machine, or the control group of
/// this process, allows. The rest is for pages of mapped files, and for what no check foresees.
[[nodiscard]] std::uint64_t usual_memory_limit();

class MemoryBudget;

/// Memory that a job may take until this is destroyed. The budget outlives it.
class MemoryPromise {
 public:
  MemoryPromise() = default;
  MemoryPromise(MemoryBudget& budget, std::uint64_t n_bytes)
      : budget_(&budget), n_bytes_(n_bytes) {}
  MemoryPromise(MemoryPromise&& other) noexcept { swap(other); }
  MemoryPromise& operator=(MemoryPromise&& other) noexcept {
    MemoryPromise taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~MemoryPromise();

 private:
  void swap(MemoryPromise& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(n_bytes_, other.n_bytes_);
  }

  MemoryBudget* budget_ = nullptr;
  std::uint64_t n_bytes_ = 0;
};

/// Thread-safe.
class MemoryBudget {
 public:
  using Clock = std::chrono::steady_clock;
  struct State {
    std::uint64_t limit_bytes = 0;     ///< 0: none
    std::uint64_t private_bytes = 0;   ///< as read now
    std::uint64_t promised_bytes = 0;  ///< to running jobs
    std::uint64_t n_refused = 0;       ///< refusals by `check`
  };

  /// Without a limit. `read` gives the private memory, `give_back` returns free memory to the
  /// system; tests put their own in.
  explicit MemoryBudget(std::function<std::uint64_t()> read = private_memory_bytes,
                        std::function<void()> give_back = {});

  /// 0: no limit.
  void set_limit(std::uint64_t n_bytes) QV_EXCLUDES(mutex_);
  [[nodiscard]] State state() QV_EXCLUDES(mutex_);

  /// Whether there is room for `n_bytes` more, for `what` ("a request body"). An error names the
  /// numbers: kUnavailable if the end of running jobs will help, else kResourceExhausted about
  /// memory. Without a limit this costs one load.
  [[nodiscard]] Result<> check(std::uint64_t n_bytes, std::string_view what) QV_EXCLUDES(mutex_);
  /// As `check`, for a job that takes its memory in the course of its time.
  [[nodiscard]] Result<MemoryPromise> promise(std::uint64_t n_bytes, std::string_view what)
      QV_EXCLUDES(mutex_);

 private:
  friend class MemoryPromise;

  [[nodiscard]] bool has_room(std::uint64_t n_bytes) QV_REQUIRES(mutex_);
  void read(Clock::time_point now) QV_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t used() const QV_REQUIRES(mutex_);
  [[nodiscard]] bool may_give_back(Clock::time_point now) QV_REQUIRES(mutex_);
  [[nodiscard]] Error refusal(std::uint64_t n_bytes, std::string_view what) const
      QV_REQUIRES(mutex_);
  /// Adds to `counter` what there is room for.
  [[nodiscard]] Result<> grant(std::uint64_t n_bytes, std::string_view what,
                               std::uint64_t MemoryBudget::*counter) QV_EXCLUDES(mutex_);
  void take_back(std::uint64_t n_bytes) noexcept QV_EXCLUDES(mutex_);

  const std::function<std::uint64_t()> read_;
  const std::function<void()> give_back_;

  std::atomic<std::uint64_t> limit_ = 0;
  Mutex mutex_;  ///< also held while the private memory is read, which takes 2 us
  std::uint64_t private_ QV_GUARDED_BY(mutex_) = 0;   ///< at the last reading
  std::uint64_t granted_ QV_GUARDED_BY(mutex_) = 0;   ///< since then
  std::uint64_t promised_ QV_GUARDED_BY(mutex_) = 0;  ///< to running jobs
  std::uint64_t n_refused_ QV_GUARDED_BY(mutex_) = 0;
  Clock::time_point read_at_ QV_GUARDED_BY(mutex_);
  Clock::time_point gave_back_at_ QV_GUARDED_BY(mutex_);
};

/// The budget of this process. Without a limit until `set_limit` is called.
[[nodiscard]] MemoryBudget& process_memory();

/// Asks for the memory of something that grows in small steps, a MiB at a time. One thread.
class GrowingMemory {
 public:
  /// `what`: static text, as of `MemoryBudget::check`. `factor`: bytes that are needed for each.
  explicit GrowingMemory(std::string_view what, std::uint64_t factor = 1)
      : what_(what), factor_(factor) {}

  [[nodiscard]] Result<> add(std::uint64_t n_bytes) {
    unasked_ += n_bytes;
    if (unasked_ < kStepBytes) return {};
    return process_memory().check(std::exchange(unasked_, 0) * factor_, what_);
  }

 private:
  static constexpr std::uint64_t kStepBytes = 1 << 20;

  std::string_view what_;
  std::uint64_t factor_ = 1;
  std::uint64_t unasked_ = 0;  ///< bytes since the last question
};

}  // namespace quiver
