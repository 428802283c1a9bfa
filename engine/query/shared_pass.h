// Several queries answered together: plain nearest queries of one field share a pass over its
// vectors where the index supports that. On the CPU only those without a filter gain from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// Who answers a group.
enum class Searched : std::uint8_t { kOnCpu, kOnDevice };

/// True if both are plain nearest queries (vector by value, no prefetch or MMR) of the same field
/// with the same parameters; on the CPU, without a filter.
[[nodiscard]] bool are_searched_alike(const Query& a, const Query& b, Searched where);

/// Queries of which some have a filter that are searched together at most: each filter takes a bit
/// for each row meanwhile, all of them 128 MiB. 1 to QueryCost::kMostOnDevice.
[[nodiscard]] std::size_t most_filtered_together(const Snapshot& snapshot);

/// One answer for each query, the same as `Plan::run` gives. An error of one is that of all.
[[nodiscard]] Result<std::vector<std::vector<Record>>> run_queries(
    const SearchEnvironment& environment, std::span<const Query> queries);

}  // namespace quiver::engine
