// Sums of features over all points of a field.
#pragma once

#include "base/result.h"
#include "engine/model/private_sums.h"
#include "engine/privacy/release.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// The features of `request`, completed by what the field says. kInvalidArgument, saying what was
/// wanted, for fields and kernels that have no such features; kUnimplemented for collections with
/// shard keys, where an id may be there twice.
[[nodiscard]] Result<PrivateFeatures> check_features(const CollectionConfig& config,
                                                     const PrivateSumRequest& request);

/// The sum over the points that match the filter and have the vector; each counts once. Exact on
/// the grid: order, threads and segments do not show. `features`
/// as `check_features` gave them; kUnavailable if the field has others by now.
[[nodiscard]] Result<FeatureSums> sum_features(const SearchEnvironment& environment,
                                               const PrivateSumRequest& request,
                                               const PrivateFeatures& features);

}  // namespace quiver::engine
