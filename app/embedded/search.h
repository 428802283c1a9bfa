// Nearest neighbours of arrays of vectors, into arrays.
#pragma once

#include <cstdint>

#include "app/embedded/handles.h"
#include "app/embedded/quiver.h"
#include "base/result.h"

namespace quiver::embedded {

/// Arrays of the caller, as quiver_search describes them.
struct HitArrays {
  std::uint64_t* ids = nullptr;
  std::uint64_t* high = nullptr;
  float* scores = nullptr;
  std::uint64_t* counts = nullptr;
};

[[nodiscard]] Result<> search(quiver_collection& collection, const quiver_request& request,
                              const quiver_vectors& queries, std::uint64_t n, std::uint64_t k,
                              const HitArrays& out);

}  // namespace quiver::embedded
