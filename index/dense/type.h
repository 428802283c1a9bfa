// The index type of dense fields: posting lists of codes of a few bits per dimension, a graph where
// lists are slow, exact scores in the end.
#pragma once

#include "index/index.h"

namespace quiver::index {

/// `ivf`, for dense fields of metric Dot, Cosine or Euclid. Parameters: index/dense/params.h.
extern const IndexType kIvf;

}  // namespace quiver::index
