// Lines about what fails again and again, as often as somebody wants to read them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/observe/log.h"

namespace quiver {

/// The first line about something is written at once, later ones once in an interval, with how many
/// were left out. Of as many things at a time as a process fails at. Takes no memory. Thread-safe.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LogLimit(Clock::duration interval = std::chrono::minutes(1)) : interval_(interval) {}

  /// Lines about `what` that were left out since one was written; nothing if one more is to be.
  [[nodiscard]] std::optional<std::uint64_t> pass(std::string_view what) noexcept;
  /// As `quiver::log`, if `pass` lets a line about `what` through.
  void log(LogLevel level, std::string_view what, std::string_view message);

 private:
  struct Slot {
    std::size_t hash = 0;  ///< of what it is about
    bool used = false;
    Clock::time_point written_at;
    std::uint64_t n_left_out = 0;
  };
  static constexpr std::size_t kSlots = 32;

  Slot& slot_of(std::size_t hash) QV_REQUIRES(mutex_);

  const Clock::duration interval_;
  Mutex mutex_;
  std::array<Slot, kSlots> slots_ QV_GUARDED_BY(mutex_);
};

/// For the end of a line: " (5 more like it were left out)", or nothing.
[[nodiscard]] std::string left_out_text(std::uint64_t n);

}  // namespace quiver
