// What must be true of a request to read points, whichever transport it came by.
#pragma once

#include "base/result.h"
#include "engine/model/query.h"

namespace quiver::service::api {

/// kFailedPrecondition or kInvalidArgument, with the reason, for a query or prefetch that no
/// collection could answer.
[[nodiscard]] Result<> check_combination(const engine::Query& query);
/// The error of a query with prefetches and without a query.
[[nodiscard]] Error prefetches_without_query();
/// kFailedPrecondition for a recommendation of the older form without the examples that its
/// strategy needs.
[[nodiscard]] Result<> check_older(const engine::Recommend& recommend);
/// The error of a discovery of the older form with neither target nor context.
[[nodiscard]] Error discovers_nothing();
/// kFailedPrecondition for a page by id and by order at once.
[[nodiscard]] Result<> check_page(const engine::ScrollRequest& request);

}  // namespace quiver::service::api
