// What a request takes from a limit on reads or writes per minute, in tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/model/operation.h"
#include "engine/model/query.h"
#include "payload/filter.h"

namespace quiver::service::api::strict {

/// Conditions of a filter on every level; a filter or `nested` counts as its conditions.
[[nodiscard]] std::uint64_t n_conditions(const payload::Filter& filter);
/// Values in the longest list of a condition: `any`, `except` or `has_id`.
[[nodiscard]] std::uint64_t max_condition_size(const payload::Filter& filter);

/// One for the request and one for each condition.
[[nodiscard]] std::uint64_t read_cost(const std::optional<payload::Filter>& filter);

/// Number of vectors that a stored point has in a field: of a multi-vector its tokens.
using CountVectors = std::function<std::uint64_t(const PointId&, const std::string& field)>;

/// Sums over the query and its prefetches: the vectors that points are compared with, the points
/// looked up for them and left out of the hits, and the conditions. Rescoring the points that
/// prefetches find costs nothing more.
[[nodiscard]] std::uint64_t query_cost(const engine::Query& query, const CountVectors& n_vectors);

/// Number of points that a filter would change.
using CountPoints = std::function<std::uint64_t(const payload::Filter&)>;

/// The points that an operation names, at least one.
[[nodiscard]] std::uint64_t write_cost(const engine::Operation& operation,
                                       const CountPoints& n_points);

/// The filter that selects an operation's points; nullptr if it names ids.
[[nodiscard]] const payload::Filter* filter_of(const engine::Operation& operation);

}  // namespace quiver::service::api::strict
