// The verb that compares a sample of points with each other.
#pragma once

#include "engine/model/matrix.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Distances are exact.
void distance_matrix(Call& call, const OpenCollection& target, engine::MatrixRequest request,
                     Done<engine::DistanceMatrix> done);

}  // namespace quiver::service::api
