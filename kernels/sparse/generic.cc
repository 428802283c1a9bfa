// Sixteen partial sums, chosen by the position in the row.
#include <bit>
#include <limits>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kLanes = 16;

// Weights of ascending indices; +0 for an index that the query does not have.
class Weights {
 public:
  explicit Weights(const SparseQuery& query) : query_(query) {}

  float at(std::uint32_t index) {
    if (query_.scattered != nullptr) {
      return query_.scattered[index < query_.dim ? index : query_.dim];
    }
    while (next_ < query_.n && query_.indices[next_] < index) ++next_;
    return next_ < query_.n && query_.indices[next_] == index ? query_.values[next_] : 0.0f;
  }

 private:
  const SparseQuery& query_;
  std::size_t next_ = 0;
};

// Adding +0 turns the -0 that underflow can leave into +0.
float sum_lanes(float (&sums)[kLanes]) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0] + 0.0f;
}

float score(const SparseQuery& query, const std::uint32_t* indices, const float* values,
            std::size_t n) {
  Weights weights(query);
  float sums[kLanes] = {};
  bool found = false;
  for (std::size_t j = 0; j < n; ++j) {
    const float weight = weights.at(indices[j]);
    found |= std::bit_cast<std::uint32_t>(weight) != 0;
    sums[j % kLanes] += weight * values[j];
  }
  return found ? sum_lanes(sums) : std::numeric_limits<float>::quiet_NaN();
}

#include "kernels/sparse/rows.inc"

}  // namespace

constinit const SparseKernels kSparseKernels = {many, gather};

}  // namespace quiver::generic
