// Shows progress: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "base/clock.h"

namespace quiver::app {

/// "1,234,567".
[[nodiscard]] std::string with_commas(std::uint64_t number);
/// "42 s", "3 min 05 s", "2 h 07 min".
[[nodiscard]] std::string duration_text(double seconds);

struct ProgressPoint {
  std::uint64_t done = 0;              ///< rows, including those of earlier runs
  std::optional<std::uint64_t> total;  ///< rows, if known
  double rate = 0;                     ///< recent rows per second
};
/// "[=====>    ]  52.0 %  5,200 of 10,000 rows  21,000/s  0 s left".
[[nodiscard]] std::string progress_bar(const ProgressPoint& point);
[[nodiscard]] std::string progress_line(const ProgressPoint& point);

enum class Verbosity : std::uint8_t { kQuiet, kNormal };

/// Writes to stderr. Use from one thread.
class ProgressDisplay {
 public:
  /// `first`: rows done before.
  ProgressDisplay(std::uint64_t first, std::optional<std::uint64_t> total, Verbosity verbosity);

  /// May be called often. Shows progress ten times a second on a terminal, else every ten seconds.
  void show(std::uint64_t done);
  /// Removes the bar.
  void clear();

 private:
  const std::optional<std::uint64_t> total_;
  const Verbosity verbosity_;
  const bool is_terminal_;
  Stopwatch watch_;
  double shown_at_ = 0;
  double rate_at_ = 0;  ///< time of the last computation of `rate_`
  std::uint64_t rate_done_ = 0;
  double rate_ = 0;
  bool has_bar_ = false;
};

}  // namespace quiver::app
