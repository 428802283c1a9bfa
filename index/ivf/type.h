// Dense vectors: inverted lists of codes of a few bits a dimension, re-ranked exactly.
#pragma once

#include "index/index.h"

namespace quiver::index {

/// `ivf`, for dense fields of metric Dot, Cosine or Euclid. Parameters: index/ivf/params.h.
extern const IndexType kIvf;

}  // namespace quiver::index
