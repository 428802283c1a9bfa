// Reads of a collection that are no searches: points by id, pages and counts, from one snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/config.h"
#include "engine/model/query.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// As the functions of Collection with these names.
[[nodiscard]] Result<std::vector<Record>> retrieve(const Snapshot& snapshot,
                                                   const CollectionConfig& config,
                                                   const RetrieveRequest& request);
[[nodiscard]] Result<ScrollPage> scroll(const Snapshot& snapshot, const CollectionConfig& config,
                                        const ScrollRequest& request, const Cancel& cancel);
[[nodiscard]] Result<std::uint64_t> count(const Snapshot& snapshot, const CollectionConfig& config,
                                          const std::optional<payload::Filter>& filter,
                                          const Cancel& cancel);

}  // namespace quiver::engine
