// Endpoints of the imitated API that Quiver lacks. A client learns which feature it misses;
// otherwise it would look for a wrong method or path.
#include <span>

#include "service/handlers/handlers.h"

namespace quiver::service {
namespace {

constexpr UnbuiltEndpoint kUnbuilt[] = {
    {"/collections/{collection_name}/points/recommend", "recommendations"},
    {"/collections/{collection_name}/points/recommend/batch", "recommendations"},
    {"/collections/{collection_name}/points/recommend/groups", "recommendations"},
    {"/collections/{collection_name}/points/discover", "discovery"},
    {"/collections/{collection_name}/points/discover/batch", "discovery"},
    {"/collections/{collection_name}/points/query/groups", "groups"},
    {"/collections/{collection_name}/points/search/groups", "groups"},
    {"/collections/{collection_name}/points/search/matrix/pairs", "distance matrices"},
    {"/collections/{collection_name}/points/search/matrix/offsets", "distance matrices"},
    {"/collections/{collection_name}/facet", "facets"},
    {"/collections/{collection_name}/snapshots", "snapshots"},
    {"/collections/{collection_name}/snapshots/{snapshot_name}", "snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot", "snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/create", "snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/recover", "snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/recover_from", "snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/manifest", "snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshots", "snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshots/{snapshot_name}", "snapshots"},
    {"/snapshots", "snapshots"},
    {"/snapshots/{snapshot_name}", "snapshots"},
    {"/collections/{collection_name}/shards", "shard keys"},
    {"/collections/{collection_name}/shards/delete", "shard keys"},
    {"/collections/{collection_name}/shards/{shard}/points", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/points/scroll", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/points/count", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/cleanup", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/wal", "diagnostics"},
    {"/collections/{collection_name}/shards/{shard}/recovery_point", "diagnostics"},
    {"/collections/{collection_name}/cluster", "clusters"},
    {"/cluster/telemetry", "clusters"},
    {"/cluster/recover", "clusters"},
    {"/cluster/peer/{peer}", "clusters"},
    {"/cluster/metadata/keys", "clusters"},
    {"/cluster/metadata/keys/{key}", "clusters"},
    {"/quotas", "quotas"},
    {"/audit/logs", "audit logs"},
    {"/collections/{collection_name}/memory", "diagnostics"},
    {"/collections/{collection_name}/debug", "diagnostics"},
    {"/collections/{collection_name}/truncate_unapplied_wal", "diagnostics"},
    {"/profiler/slow_requests", "diagnostics"},
    {"/logger", "diagnostics"},
    {"/stacktrace", "diagnostics"},
    {"/debugger", "diagnostics"},
    {"/dashboard", "the web UI"},
    {"/dashboard/{file}", "the web UI"},
};

}  // namespace

std::span<const UnbuiltEndpoint> unbuilt_endpoints() { return kUnbuilt; }

}  // namespace quiver::service
