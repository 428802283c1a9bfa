// Turns a weighted sum of similarities into one nearest query, where that is possible.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/schema.h"
#include "engine/model/vector.h"
#include "index/prepared_query.h"

namespace quiver::engine {

/// A query whose nearest rows are those with the greatest sum of `weights[e]` times the similarity
/// to example e. nullopt if there is none, or if rounding would spoil its order. `values`: the
/// examples, weighed by IDF where the field wants it; `examples`: the same, prepared.
[[nodiscard]] std::optional<index::PreparedQuery> weighted_query(
    const FieldSchema& schema, std::span<const VectorValue> values,
    std::span<const index::PreparedQuery* const> examples, std::span<const double> weights);

}  // namespace quiver::engine
