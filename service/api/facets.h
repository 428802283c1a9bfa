// The verb that counts points by payload value.
#pragma once

#include <vector>

#include "engine/model/facets.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Values by count, descending; equal counts by value, ascending. Counts are exact.
/// kInvalidArgument without a payload index whose values can be counted.
void facet(Call& call, const OpenCollection& target, engine::FacetRequest request,
           Done<std::vector<engine::FacetHit>> done);

}  // namespace quiver::service::api
