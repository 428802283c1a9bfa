// Choosing hits that differ from each other.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/candidates.h"
#include "engine/query/search.h"

namespace quiver::engine {

/// Maximal marginal relevance of `node`, a nearest query with `mmr`: leaves `limit` of
/// `candidates`, which are its best by score, in the order in which they were chosen, with the
/// scores they had. The first is the best; each further one has the greatest
/// (1 - diversity) * score - diversity * (the greatest similarity to one chosen before), of equal
/// ones the better by (score, id). Similarities are the field's metric between stored vectors,
/// distances negative as in scores; sparse ones that share no index have 0, and `modifier` weighs
/// none of them; of multi-vectors, what is left stands in the place of the query. Polls `cancel`.
[[nodiscard]] Result<> diversify(const SearchEnvironment& environment, const Query& node,
                                 std::uint64_t limit, Candidates& candidates);

}  // namespace quiver::engine
