// The vector that stands for all examples of a recommendation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/model/vector.h"

namespace quiver::engine {

/// 2 * mean(positive) - mean(negative), or mean(positive) if nothing is negative. `vectors`: first
/// `n_positive` >= 1 positive ones, then the negative ones, all of one kind and dimension; sparse
/// ones are sorted. Multi-vectors are not averaged: the positive tokens are joined with the
/// negated negative ones.
[[nodiscard]] VectorValue average_of(std::span<const VectorValue> vectors, std::size_t n_positive);

}  // namespace quiver::engine
