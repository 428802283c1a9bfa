// The index type `seismic` of sparse fields: docs/formats/seismic.md. Parameters:
// index/sparse/params.h.
#pragma once

#include "index/index.h"

namespace quiver::index {

extern const IndexType kSeismic;

}  // namespace quiver::index
