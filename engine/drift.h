// Whether the queries of a field have moved away from what its index was fitted to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "engine/query_samples.h"
#include "engine/segment.h"

namespace quiver::engine {

/// A field is looked at once it was asked so often, and again whenever that has doubled.
inline constexpr std::uint64_t kQueriesBeforeDrift = 128;

/// Numbers of the fields of a sealed segment whose index finds too little of what remembered
/// queries ask for: of the ten best that a search finds with eight times the usual effort, a usual
/// one finds less than .93 on average. Fields without an index or with few remembered queries are
/// left out. Polls `cancel`.
[[nodiscard]] Result<std::vector<std::size_t>> drifted_fields(const Segment& segment,
                                                              const QuerySamples& queries,
                                                              const Cancel& cancel);

}  // namespace quiver::engine
