// `quiver cluster drain` and `remove`: changes of a cluster's nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/cluster/options.h"
#include "base/result.h"

namespace quiver::app {

/// Marks the node, and prints how far it is until it may be stopped. kFailedPrecondition, with what
/// is missing, if something cannot move; the mark stays.
[[nodiscard]] Result<> run_cluster_drain(const ClusterStatusOptions& options);
[[nodiscard]] Result<> run_cluster_remove(const ClusterStatusOptions& options);

/// The id of the node with this id or peer address in the body of an answer to `GET /cluster`.
/// kNotFound if there is none.
[[nodiscard]] Result<std::uint64_t> find_node(std::string_view body, std::string_view id_or_peer);

struct DrainProgress {
  bool is_draining = false;
  std::uint64_t n_left = 0;  ///< collections
  bool is_done = false;
  std::string trouble;  ///< what is missing; empty: nothing
  bool operator==(const DrainProgress&) const = default;
};
/// Of the node, in the body of an answer to `GET /cluster`.
[[nodiscard]] Result<DrainProgress> drain_progress(std::string_view body, std::uint64_t node);

}  // namespace quiver::app
