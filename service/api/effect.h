// What requests change, and which of them may be refused.
#pragma once

#include <cstdint>

namespace quiver::service::api {

/// What a request changes, and so which node of a cluster answers it.
enum class Effect : std::uint8_t {
  kLocal,   ///< nothing, or what each node has for itself, as jobs: any that has the collection
  kHere,    ///< as kLocal, and each node knows the answer, or keeps what is asked for, as snapshots
  kChange,  ///< what a collection holds, on all its nodes: the one that leads the collection
  kCatalog,  ///< which collections and aliases there are: the one that leads the cluster
};

/// True for what a node does without asking who leads.
[[nodiscard]] constexpr bool changes_nothing_shared(Effect effect) {
  return effect == Effect::kLocal || effect == Effect::kHere;
}

/// What becomes of a request that would wait too long for a thread.
enum class WhenOverloaded : std::uint8_t {
  kRefused,  ///< 429
  kServed,   ///< it waits: deletions, which make room
};

}  // namespace quiver::service::api
