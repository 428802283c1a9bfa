// Pictures of a sample of points in two dimensions.
#pragma once

#include "base/result.h"
#include "engine/model/projection.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// Ids and the seed decide which points are chosen: those with the smallest hashes. A plane is
/// fitted to some thousand of them. A layout begins with the plane, or where vectors are not dense
/// with two random projections of the graph. The same request gives the same picture as long as the
/// points and their index stay. kInvalidArgument for an unknown field, and for a plane of a field
/// that is not dense; kUnimplemented for fields and collections that are not joined; kCancelled.
[[nodiscard]] Result<Projection> project_sample(const SearchEnvironment& environment,
                                                const ProjectionRequest& request);

}  // namespace quiver::engine
