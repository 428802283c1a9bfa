// What requests change.
#pragma once

#include <cstdint>

namespace quiver::service::api {

/// What a request changes, and so which node of a cluster answers it.
enum class Effect : std::uint8_t {
  kLocal,   ///< nothing, or what each node has for itself, as snapshots: any node
  kChange,  ///< what all nodes hold: the leader
};

}  // namespace quiver::service::api
