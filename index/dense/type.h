// Dense vectors: inverted lists of codes of a few bits a dimension, where they are slow also a
// graph of near rows; re-ranked exactly.
#pragma once

#include "index/index.h"

namespace quiver::index {

/// `ivf`, for dense fields of metric Dot, Cosine or Euclid. Parameters: index/dense/params.h.
extern const IndexType kIvf;

}  // namespace quiver::index
