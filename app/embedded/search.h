// Nearest neighbours of arrays of vectors, into arrays.
#pragma once

#include "app/embedded/quiver.h"
#include "base/result.h"

namespace quiver::embedded {

/// See quiver_search_vectors.
[[nodiscard]] Result<> search(const quiver_call& call, const quiver_vectors& queries);

}  // namespace quiver::embedded
