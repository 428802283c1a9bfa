// Changes of the nodes that hold a placed collection, as an operator asks for them: checked, and
// done to the set. docs/decisions/0072.
#pragma once

#include "base/result.h"
#include "cluster/node.h"
#include "cluster/records.h"

namespace quiver::cluster {

/// kFailedPrecondition, with the reason, if the change is impossible.
[[nodiscard]] Result<> apply_change(const ClusterState& state, const ReplicaChange& change,
                                    MemberSet& set);

/// A member whose data directory was lost: the node that is at its address now gets a copy. False
/// if there is none, or a change is on its way.
[[nodiscard]] bool replace_lost(const ClusterState& state, MemberSet& set);

}  // namespace quiver::cluster
