#include "service/handlers/handlers.h"
#include "service/handlers/jobs.h"
#include "service/handlers/private_sums.h"

namespace quiver::service {

Routes all_routes() {
  Routes routes;
  add_query_routes(routes);
  add_group_routes(routes);
  add_aggregate_routes(routes);
  add_fusion_routes(routes);
  add_proposal_routes(routes);
  add_recall_routes(routes);
  add_job_routes(routes);
  add_private_sum_routes(routes);
  add_update_routes(routes);
  add_read_routes(routes);
  add_collection_routes(routes);
  add_alias_routes(routes);
  add_index_routes(routes);
  add_snapshot_routes(routes);
  add_service_routes(routes);
  add_telemetry_routes(routes);
  add_cluster_routes(routes);
  add_shard_key_routes(routes);
  add_quota_routes(routes);
  add_device_routes(routes);
  add_scrub_routes(routes);
  add_audit_routes(routes);
  add_console_routes(routes);
  return routes;
}

}  // namespace quiver::service
