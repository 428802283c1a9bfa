// Deadlines and cancellation.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "base/result.h"

namespace quiver {

/// A point on the steady clock, or none.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  constexpr Deadline() = default;
  [[nodiscard]] static constexpr Deadline none() { return Deadline(); }
  [[nodiscard]] static constexpr Deadline at(Clock::time_point when) { return Deadline(when); }
  /// `timeout` from now. A timeout beyond the range of the clock gives no deadline.
  [[nodiscard]] static Deadline after(std::chrono::nanoseconds timeout) {
    const auto now = Clock::now();
    if (timeout > Clock::time_point::max() - now) return none();
    return Deadline(now + timeout);
  }

  [[nodiscard]] constexpr bool is_none() const { return when_ == Clock::time_point::max(); }
  [[nodiscard]] constexpr Clock::time_point when() const { return when_; }
  [[nodiscard]] bool has_passed() const { return !is_none() && Clock::now() >= when_; }
  /// Time left, never negative; nullopt without a deadline.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> remaining() const {
    if (is_none()) return std::nullopt;
    return std::max(std::chrono::nanoseconds(0),
                    std::chrono::duration_cast<std::chrono::nanoseconds>(when_ - Clock::now()));
  }

 private:
  constexpr explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_ = Clock::time_point::max();
};

/// One per request, shared by all its work. Thread-safe.
class Cancel {
 public:
  Cancel() = default;
  explicit Cancel(Deadline deadline) : deadline_(deadline) {}
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  /// Call it when the answer is no longer wanted (the client went away).
  void cancel() const { set(State::kCancelled); }

  /// True if the work should stop. Costs one relaxed load, and with a deadline one look at the
  /// clock (about 25 ns). Poll once per block of work, at least every 50 us.
  [[nodiscard]] bool poll() const {
    if (state_.load(std::memory_order_relaxed) != State::kRunning) [[unlikely]]
      return true;
    if (!deadline_.has_passed()) [[likely]]
      return false;
    set(State::kExpired);
    return true;
  }
  /// As `poll`, but returns the reason: kCancelled or kDeadlineExceeded.
  [[nodiscard]] Result<> check() const {
    if (!poll()) [[likely]]
      return {};
    return stopped();
  }
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }

 private:
  enum class State : unsigned char { kRunning, kCancelled, kExpired };

  /// The first reason is kept.
  void set(State state) const {
    State expected = State::kRunning;
    state_.compare_exchange_strong(expected, state, std::memory_order_relaxed);
  }
  [[nodiscard]] Result<> stopped() const;

  Deadline deadline_;
  mutable std::atomic<State> state_ = State::kRunning;
};

}  // namespace quiver
