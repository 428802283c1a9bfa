// The index type of multi-vector fields: single vectors of the documents find candidates, and
// MaxSim of token codes compares them.
#pragma once

#include "index/index.h"

namespace quiver::index {

/// `multi`, for multi-vector fields of metric Dot or Cosine. Parameters:
/// index/multi/stages/params.h.
extern const IndexType kMulti;

}  // namespace quiver::index
