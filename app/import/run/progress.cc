#include "app/import/run/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace quiver::app {
namespace {

constexpr double kTerminalIntervalS = 0.1;
constexpr double kLineIntervalS = 10;
constexpr double kRateIntervalS = 1;
constexpr int kBarWidth = 24;

std::string left_text(const ProgressPoint& point) {
  if (!point.total || point.rate <= 0) return "";
  const double left = static_cast<double>(*point.total - std::min(point.done, *point.total));
  return fmt::format("  {} left", duration_text(left / point.rate));
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string duration_text(double seconds) {
  const auto s = static_cast<std::uint64_t>(std::clamp(seconds + 0.5, 0.0, 3.6e7));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

std::string progress_line(const ProgressPoint& point) {
  const std::string rate =
      fmt::format("{} rows/s", with_commas(static_cast<std::uint64_t>(point.rate)));
  if (!point.total) return fmt::format("{} rows  {}", with_commas(point.done), rate);
  const double share =
      *point.total == 0 ? 1 : static_cast<double>(point.done) / static_cast<double>(*point.total);
  return fmt::format("{:5.1f} %  {} of {} rows  {}{}", 100 * share, with_commas(point.done),
                     with_commas(*point.total), rate, left_text(point));
}

std::string progress_bar(const ProgressPoint& point) {
  if (!point.total || *point.total == 0) return progress_line(point);
  const double share = static_cast<double>(point.done) / static_cast<double>(*point.total);
  const auto n = static_cast<std::size_t>(std::clamp(share * kBarWidth, 0.0, double{kBarWidth}));
  return fmt::format("[{}{}] {}", std::string(n, '='), std::string(kBarWidth - n, ' '),
                     progress_line(point));
}

ProgressDisplay::ProgressDisplay(std::uint64_t first, std::optional<std::uint64_t> total,
                                 Verbosity verbosity)
    : total_(total),
      verbosity_(verbosity),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      rate_done_(first) {}

void ProgressDisplay::show(std::uint64_t done) {
  const double now = watch_.seconds();
  if (now - rate_at_ >= kRateIntervalS) {
    const double fresh = static_cast<double>(done - rate_done_) / (now - rate_at_);
    rate_ = rate_ == 0 ? fresh : 0.7 * rate_ + 0.3 * fresh;
    rate_at_ = now;
    rate_done_ = done;
  }
  if (verbosity_ == Verbosity::kQuiet) return;
  if (now - shown_at_ < (is_terminal_ ? kTerminalIntervalS : kLineIntervalS)) return;
  shown_at_ = now;
  const ProgressPoint point{done, total_, rate_};
  if (is_terminal_) {
    std::fprintf(stderr, "\r\x1b[K%s", progress_bar(point).c_str());
    has_bar_ = true;
  } else {
    std::fprintf(stderr, "%s\n", progress_line(point).c_str());
  }
  std::fflush(stderr);
}

void ProgressDisplay::clear() {
  if (has_bar_) std::fputs("\r\x1b[K", stderr);
  has_bar_ = false;
}

}  // namespace quiver::app
