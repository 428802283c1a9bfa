// The endpoints of the REST API: each decodes a request, calls a verb of `service/api` and encodes
// the answer.
#pragma once

#include <span>
#include <vector>

#include "service/http/router.h"

namespace quiver::service {

using Routes = std::vector<RouteDeclaration>;

void add_service_routes(Routes& routes);
void add_telemetry_routes(Routes& routes);
void add_cluster_routes(Routes& routes);
void add_shard_key_routes(Routes& routes);
void add_quota_routes(Routes& routes);
void add_device_routes(Routes& routes);
void add_scrub_routes(Routes& routes);
void add_audit_routes(Routes& routes);
void add_collection_routes(Routes& routes);
void add_alias_routes(Routes& routes);
void add_index_routes(Routes& routes);
void add_snapshot_routes(Routes& routes);
void add_update_routes(Routes& routes);
void add_read_routes(Routes& routes);
void add_query_routes(Routes& routes);
void add_group_routes(Routes& routes);
void add_aggregate_routes(Routes& routes);
void add_fusion_routes(Routes& routes);
void add_proposal_routes(Routes& routes);
void add_recall_routes(Routes& routes);
void add_console_routes(Routes& routes);

/// All routes, the busiest first.
[[nodiscard]] Routes all_routes();
/// Endpoints of the imitated API that Quiver lacks.
[[nodiscard]] std::span<const UnbuiltEndpoint> unbuilt_endpoints();

}  // namespace quiver::service
