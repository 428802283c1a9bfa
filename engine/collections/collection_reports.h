// What a collection says of itself: from its shards and one snapshot.
#pragma once

#include <vector>

#include "engine/collections/sharding/shard_list.h"
#include "engine/indexing/indexes.h"
#include "engine/model/config.h"
#include "engine/model/reports.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// All but `search_work` and `opening_s`.
[[nodiscard]] CollectionInfo collection_info(const Shards& shards, const Snapshot& snapshot,
                                             const CollectionConfig& config,
                                             const IndexPolicy& policy);
[[nodiscard]] std::vector<ShardInfo> shard_infos(const Shards& shards, const IndexPolicy& policy);
[[nodiscard]] std::vector<SegmentIndexInfo> segment_index_infos(const Shards& shards);
[[nodiscard]] std::vector<SegmentAttributesInfo> segment_attribute_infos(const Shards& shards);
[[nodiscard]] OptimizationReport optimization_report(const Shards& shards,
                                                     const OptimizerConfig& optimizer,
                                                     const IndexPolicy& policy);

}  // namespace quiver::engine
