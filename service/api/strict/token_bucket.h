// A limit on how many tokens are taken per minute.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace quiver::service::api::strict {

/// Holds the tokens of one minute, and is full at first, so that a burst of that size passes.
/// Tokens come back at an even pace. The caller passes the time, which may not go backwards.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  TokenBucket(std::uint64_t per_minute, Clock::time_point now)
      : per_minute_(per_minute), tokens_(static_cast<double>(per_minute)), updated_at_(now) {}

  [[nodiscard]] std::uint64_t per_minute() const { return per_minute_; }

  struct Refusal {
    double n_available = 0;
    double wait_s = 0;          ///< until there are enough
    bool is_too_large = false;  ///< more than the bucket can ever hold
  };
  /// Takes `n` tokens if there are as many, else none.
  [[nodiscard]] std::optional<Refusal> take(std::uint64_t n, Clock::time_point now) {
    refill(now);
    const auto wanted = static_cast<double>(n);
    if (n > per_minute_) return Refusal{tokens_, 0, true};
    if (wanted > tokens_) return Refusal{tokens_, (wanted - tokens_) / per_second(), false};
    tokens_ -= wanted;
    return std::nullopt;
  }

 private:
  [[nodiscard]] double per_second() const {
    constexpr double kSecondsPerMinute = 60;
    return static_cast<double>(per_minute_) / kSecondsPerMinute;
  }
  void refill(Clock::time_point now) {
    const std::chrono::duration<double> passed = now - updated_at_;
    updated_at_ = now;
    tokens_ = std::min(static_cast<double>(per_minute_), tokens_ + passed.count() * per_second());
  }

  std::uint64_t per_minute_;
  double tokens_;
  Clock::time_point updated_at_;
};

}  // namespace quiver::service::api::strict
