// The index of sparse fields: docs/formats/seismic.md.
#pragma once

#include "index/index.h"

namespace quiver::index {

extern const IndexType kSeismic;

}  // namespace quiver::index
