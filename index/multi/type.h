// Multi-vectors: documents' tokens as single vectors find candidates, MaxSim of coded tokens
// compares them.
#pragma once

#include "index/index.h"

namespace quiver::index {

/// `multi`, for multi-vector fields of metric Dot or Cosine. Parameters: index/multi/params.h.
extern const IndexType kMulti;

}  // namespace quiver::index
