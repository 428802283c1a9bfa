// Endpoints of the imitated API that Quiver lacks. A client learns which feature it misses;
// otherwise it would look for a wrong method or path.
#include <span>

#include "service/handlers/handlers.h"

namespace quiver::service {
namespace {

constexpr UnbuiltEndpoint kUnbuilt[] = {
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/create", "partial snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/recover", "partial snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/recover_from",
     "partial snapshots"},
    {"/collections/{collection_name}/shards/{shard}/snapshot/partial/manifest",
     "partial snapshots"},
    {"/collections/{collection_name}/shards/{shard}/points", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/points/scroll", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/points/count", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/cleanup", "shards by themselves"},
    {"/collections/{collection_name}/shards/{shard}/wal", "diagnostics"},
    {"/collections/{collection_name}/shards/{shard}/recovery_point", "diagnostics"},
    {"/collections/{collection_name}/debug", "diagnostics"},
    {"/collections/{collection_name}/truncate_unapplied_wal", "diagnostics"},
    {"/profiler/slow_requests", "diagnostics"},
    {"/logger", "diagnostics"},
    {"/stacktrace", "diagnostics"},
    {"/debugger", "diagnostics"},
};

}  // namespace

std::span<const UnbuiltEndpoint> unbuilt_endpoints() { return kUnbuilt; }

}  // namespace quiver::service
