// Reads a part of a mapped file in a way that its other readers do not notice.
#pragma once

#include "base/hash.h"
#include "base/io/file.h"

namespace quiver {

/// Adds `range` of a mapped file to `sum`, through a second mapping of the same pages. So the pages
/// are the ones that other readers see, a page that cannot be read harms only the second mapping,
/// and pages that were not in memory before are dropped again. False if a page cannot be read;
/// `sum` is useless then. `range` may also be memory that belongs to no file.
[[nodiscard]] bool hash_apart(Bytes range, Checksum& sum);

}  // namespace quiver
