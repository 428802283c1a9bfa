// Trying until a leader answers.
#pragma once

#include <chrono>
#include <optional>
#include <thread>

#include "service/api/call.h"

namespace quiver::service::api {

/// Seconds after which a client may try again what wanted a leader.
inline constexpr int kLeaderRetryS = 1;

/// Calls `attempt()` until it returns a value, with pauses, as long as the call is younger than
/// `patience` and not cancelled; at least once. nullopt: it never did. Blocks.
template <class Attempt>
auto until_answered(Call& call, std::chrono::milliseconds patience, Attempt attempt)
    -> decltype(attempt()) {
  constexpr auto kPause = std::chrono::milliseconds(50);
  constexpr double kPauseSeconds = std::chrono::duration<double>(kPause).count();
  const double patience_s = std::chrono::duration<double>(patience).count();
  for (;;) {
    auto answer = attempt();
    if (answer || call.is_cancelled() || call.seconds() + kPauseSeconds > patience_s) return answer;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace quiver::service::api
