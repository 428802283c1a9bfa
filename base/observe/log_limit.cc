#include "base/observe/log_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace quiver {

/// The slot of `hash`, or else the slot that was silent longest.
LogLimit::Slot& LogLimit::slot_of(std::size_t hash) {
  const auto own = std::find_if(slots_.begin(), slots_.end(),
                                [&](const Slot& slot) { return slot.used && slot.hash == hash; });
  if (own != slots_.end()) return *own;
  Slot& oldest = *std::min_element(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) {
    return std::pair(a.used, a.written_at) < std::pair(b.used, b.written_at);
  });
  oldest = Slot{};
  oldest.hash = hash;
  return oldest;
}

std::optional<std::uint64_t> LogLimit::pass(std::string_view what) noexcept {
  const auto now = Clock::now();
  MutexLock lock(mutex_);
  Slot& slot = slot_of(std::hash<std::string_view>()(what));
  if (slot.used && now - slot.written_at < interval_) {
    ++slot.n_left_out;
    return std::nullopt;
  }
  slot.used = true;
  slot.written_at = now;
  return std::exchange(slot.n_left_out, 0);
}

void LogLimit::log(LogLevel level, std::string_view what, std::string_view message) {
  if (!log_enabled(level)) return;
  const auto n_left_out = pass(what);
  if (n_left_out) quiver::log(level, std::string(message) + left_out_text(*n_left_out));
}

std::string left_out_text(std::uint64_t n) {
  return n == 0 ? std::string() : fmt::format(" ({} more like it were left out)", n);
}

}  // namespace quiver
