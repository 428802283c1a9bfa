// The verb that computes counts, statistics and histograms of payload values.
#pragma once

#include <vector>

#include "engine/model/aggregates.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// One aggregate for each aggregation of the request, in their order. All are exact.
void aggregate(Call& call, const OpenCollection& target, engine::AggregateRequest request,
               Done<std::vector<engine::Aggregate>> done);

}  // namespace quiver::service::api
