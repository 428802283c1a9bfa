// Reading mapped files again: what is asked of the scrub, and what it says of itself.
#pragma once

#include <cstdint>
#include <optional>

namespace quiver::engine {

struct ScrubOptions {
  /// Bytes read per second, at most; at least 1. A pass takes as long as its bytes need.
  std::uint64_t bytes_per_s = 8ULL << 20;
  /// Seconds from the begin of a pass to that of the next; 0: passes only when asked for.
  double period_s = 3600;
};

struct ScrubStatus {
  bool is_running = false;
  std::uint64_t n_pass_bytes = 0;         ///< read by the running pass, or the last one
  std::uint64_t n_pass_bytes_total = 0;   ///< to be read by it
  std::uint64_t n_bytes = 0;              ///< read by all passes
  std::uint64_t n_passes = 0;             ///< whole passes
  std::uint64_t n_damages = 0;            ///< files found damaged
  std::optional<double> last_pass_age_s;  ///< since the last whole pass ended; nullopt: none did
};

}  // namespace quiver::engine
