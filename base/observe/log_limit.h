// Limits log lines about failures that repeat.
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

/// Writes the first line about a subject at once, then at most one per interval, with the number of
/// lines left out. Remembers a fixed number of subjects and allocates nothing. Thread-safe.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LogLimit(Clock::duration interval = std::chrono::minutes(1)) : interval_(interval) {}

  /// Number of lines about `what` left out since the last one; nullopt if this one is left out too.
  [[nodiscard]] std::optional<std::uint64_t> pass(std::string_view what) noexcept;
  /// Logs `message` if `pass` allows a line about `what`.
  void log(LogLevel level, std::string_view what, std::string_view message);

 private:
  struct Slot {
    std::size_t hash = 0;  ///< hash of the subject
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

/// Suffix for a log line: " (5 more like it were left out)", or empty for 0.
[[nodiscard]] std::string left_out_text(std::uint64_t n);

}  // namespace quiver
