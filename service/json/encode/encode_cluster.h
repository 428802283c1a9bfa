// A cluster as JSON, in the shape that stock clients read.
#pragma once

#include <span>

#include "cluster/node.h"
#include "service/json/writer.h"

namespace quiver::service::json {

/// `now_s`: seconds since the epoch. `GET /cluster` of a node, with more of ours: epoch, quorum,
/// the ledger, and a row for each node.
/// `placements`: the collections that are on some nodes only.
void write_cluster(Writer& out, const cluster::NodeView& view,
                   std::span<const cluster::PlacementView> placements, double now_s);
/// For `GET /telemetry`; nullptr: the server is alone.
void write_cluster_telemetry(Writer& out, const cluster::NodeView* view, double now_s);

}  // namespace quiver::service::json
