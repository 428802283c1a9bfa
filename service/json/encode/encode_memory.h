// How much memory and disk the parts of a collection take.
#pragma once

#include <span>

#include "engine/model/config.h"
#include "engine/model/reports.h"
#include "service/json/writer.h"

namespace quiver::service::json {

/// {total, vectors, sparse_vectors, payload, payload_index, other}, each with `disk_bytes`, in
/// mapped files, and `ram_bytes`, which the system cannot take back. Which pages of files are in
/// memory is not known, so that `cached_bytes` is null. Sizes of payload indexes are not reported.
void write_memory(Writer& out, std::span<const engine::ShardInfo> shards,
                  const engine::CollectionConfig& config);

}  // namespace quiver::service::json
