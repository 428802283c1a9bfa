// Explains the score of a late interaction: the best document token for each query token.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// One explanation for each point that exists and has the vector, in the order asked for.
/// kInvalidArgument if the field is no multi-vector, the query does not fit it, or the answer would
/// have more than `kMaxTokenMatches` matches. Large requests run on the environment's executor, if
/// it has one.
[[nodiscard]] Result<std::vector<Explanation>> explain(const SearchEnvironment& environment,
                                                       const ExplainRequest& request);

/// Query tokens times points. Bounds the memory of an answer: about 50 bytes each as JSON.
inline constexpr std::size_t kMaxTokenMatches = std::size_t{1} << 20;

}  // namespace quiver::engine
