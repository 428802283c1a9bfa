// Distances among a sample of points.
#pragma once

#include "base/result.h"
#include "engine/model/matrix.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// Draws the request's points at random from those that have the vector.
[[nodiscard]] Query sample_query(const MatrixRequest& request);

/// As Collection::distance_matrix.
[[nodiscard]] Result<DistanceMatrix> compare_sample(const SearchEnvironment& environment,
                                                    const MatrixRequest& request);

}  // namespace quiver::engine
