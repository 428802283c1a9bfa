// The vectors that a query names, of whatever kind it is.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/model/query.h"

namespace quiver::engine {

/// Largest number of vectors of a query.
inline constexpr std::size_t kMaxExamples = 16'384;

/// Nearest: the vector. Recommend: positive, then negative ones. Discover: the target, then the
/// positive and the negative one of each pair. Context: the same without a target. Feedback: the
/// target, then the examples. Other kinds: none. Borrowed from `kind`.
[[nodiscard]] std::vector<QueryVector*> vectors_of(QueryKind& kind);
[[nodiscard]] std::vector<const QueryVector*> vectors_of(const QueryKind& kind);

[[nodiscard]] std::vector<const QueryVector*> vectors_of(const Recommend& recommend);
[[nodiscard]] std::vector<const QueryVector*> vectors_of(const Discover& discover);
[[nodiscard]] std::vector<const QueryVector*> vectors_of(const Context& context);
[[nodiscard]] std::vector<const QueryVector*> vectors_of(const RelevanceFeedback& feedback);

/// Says that a vector of `kind` was looked up from this point of the same collection.
void add_own_point(QueryKind& kind, const PointId& id);

}  // namespace quiver::engine
