#pragma once

#include "index/index.h"

namespace quiver::index {
/// Exact search by scoring every allowed row: the reference for all other types, and what answers
/// for segments that have no index yet.
extern constinit const IndexType kFlat;
}  // namespace quiver::index
