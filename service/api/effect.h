// What requests change, and which of them may be refused.
#pragma once

#include <cstdint>

namespace quiver::service::api {

/// What a request changes, and so which node of a cluster answers it.
enum class Effect : std::uint8_t {
  kLocal,   ///< nothing, or what each node has for itself, as snapshots: any node
  kChange,  ///< what all nodes hold: the leader
};

/// What becomes of a request that would wait too long for a thread.
enum class WhenOverloaded : std::uint8_t {
  kRefused,  ///< 429
  kServed,   ///< it waits: deletions, which make room
};

}  // namespace quiver::service::api
