// Vectors of another embedding model, estimated from those that points have.
#pragma once

#include "base/result.h"
#include "engine/model/joins.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// The points that match the request, have a vector in its field and none in `kind.to`, each with
/// the estimate of the latter. Learned from points with both; a hash of the id chooses them, so
/// that the same points give the same estimates. kFailedPrecondition with fewer than
/// kMinTranslatedPairs of them; kResourceExhausted if memory does not suffice.
[[nodiscard]] Result<JoinTable> translate(const SearchEnvironment& environment,
                                          const JoinRequest& request, const TranslateJoin& kind,
                                          JoinProgress& progress);

/// kInvalidArgument unless both fields are dense, and `request.into` is a third one like `kind.to`.
[[nodiscard]] Result<> check_translate(const SearchEnvironment& environment,
                                       const JoinRequest& request, const TranslateJoin& kind);

}  // namespace quiver::engine
