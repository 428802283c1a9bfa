// Limits that a collection sets for its requests. Every verb calls one of these functions first;
// the rules are in service/api/strict/ and docs/strict-mode.md.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/aggregates.h"
#include "engine/model/facets.h"
#include "engine/model/groups.h"
#include "engine/model/matrix.h"
#include "engine/model/operation.h"
#include "engine/model/query.h"
#include "payload/filter.h"
#include "payload/schema.h"
#include "service/api/collections.h"

namespace quiver::service::api {

// Each returns kFailedPrecondition for a request that the collection's strict mode forbids, and
// kResourceExhausted for one that comes too early; `Call::retry_after_s` says when to come again.
// Without a strict mode they cost the reading of one pointer.

[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::Query& query);
/// A batch of queries.
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    std::span<const engine::Query> queries);
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::RetrieveRequest& request);
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::ExplainRequest& request);
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::ScrollRequest& request);
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::GroupsQuery& query);
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::FacetRequest& request);
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::AggregateRequest& request);
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const engine::MatrixRequest& request);
/// A read that a filter describes, such as a count.
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const std::optional<payload::Filter>& filter);
/// Changes of points, which are made together or not at all. May count points.
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const std::vector<engine::Operation>& operations);
/// A new payload index.
[[nodiscard]] Result<> check_limits(Call& call, const OpenCollection& target,
                                    const payload::FieldIndex& index);

/// True if checking `operations` takes longer than a few microseconds: points are to be counted.
[[nodiscard]] bool is_slow_to_check(const OpenCollection& target,
                                    const std::vector<engine::Operation>& operations);

}  // namespace quiver::service::api
