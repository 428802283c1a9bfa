// Sixteen partial sums, chosen by the position in the row; see kernels.h for why both forms share
// bits.
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kLanes = 16;

// Adding +0 turns the -0 that underflow can leave into +0: the dense form may lose it on the way,
// the merge not.
float sum_lanes(float (&sums)[kLanes]) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0] + 0.0f;
}

float merge(const std::uint32_t* query_indices, const float* query_values, std::size_t n_query,
            const std::uint32_t* row_indices, const float* row_values, std::size_t n_row) {
  float sums[kLanes] = {};
  for (std::size_t i = 0, j = 0; i < n_query && j < n_row;) {
    const std::uint32_t q = query_indices[i];
    const std::uint32_t r = row_indices[j];
    if (q == r) sums[j % kLanes] += query_values[i] * row_values[j];
    i += q <= r;
    j += r <= q;
  }
  return sum_lanes(sums);
}

float dense(const float* query, std::size_t dim, const std::uint32_t* row_indices,
            const float* row_values, std::size_t n_row) {
  float sums[kLanes] = {};
  for (std::size_t j = 0; j < n_row; ++j) {
    if (row_indices[j] >= dim) break;  // ascending: the rest is outside as well
    sums[j % kLanes] += query[row_indices[j]] * row_values[j];
  }
  return sum_lanes(sums);
}

}  // namespace

constinit const SparseKernels kSparseKernels = {merge, dense};

}  // namespace quiver::generic
