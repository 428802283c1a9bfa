// Distances among a sample of points.
#pragma once

#include "base/result.h"
#include "engine/model/matrix.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// As Collection::distance_matrix.
[[nodiscard]] Result<DistanceMatrix> compare_sample(const SearchEnvironment& environment,
                                                    const MatrixRequest& request);

}  // namespace quiver::engine
