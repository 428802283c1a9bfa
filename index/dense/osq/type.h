// The index type of dense fields that builds SQUASH's index as published: `osq`.
#pragma once

#include "index/index.h"

namespace quiver::index {

/// `osq`, for dense fields of up to 4096 dimensions of metric Dot, Cosine or Euclid that ask for
/// it. Parameters: index/dense/osq/params.h.
extern const IndexType kOsq;

}  // namespace quiver::index
