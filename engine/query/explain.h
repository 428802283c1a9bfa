// Where the score of a late interaction comes from: the document token that each query token met.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/search.h"

namespace quiver::engine {

/// One answer for each point that is there and has the vector, in the order asked for.
/// kInvalidArgument if the field is no multi-vector, the query does not fit it, or the answer would
/// have more than `kMaxTokenMatches` lines. On the environment's executor, if it has one and the
/// work is worth it.
[[nodiscard]] Result<std::vector<Explanation>> explain(const SearchEnvironment& environment,
                                                       const ExplainRequest& request);

/// Query tokens times points: what bounds the memory of an answer, about 50 bytes each as JSON.
inline constexpr std::size_t kMaxTokenMatches = std::size_t{1} << 20;

}  // namespace quiver::engine
