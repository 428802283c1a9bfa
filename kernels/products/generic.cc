#include <algorithm>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kSums = 16;

void add(const ValuesByPlace& a, const ValuesByPlace& b, std::size_t depth, double factor,
         double* out, std::size_t out_stride) {
  for (std::size_t i = 0; i < a.n; ++i) {
    for (std::size_t first = 0; first < b.n; first += kSums) {
      const std::size_t n = std::min(kSums, b.n - first);
      double sums[kSums] = {};
      for (std::size_t k = 0; k < depth; ++k) {
        const double value = a.values[k * a.stride + i];
        const double* row = b.values + k * b.stride + first;
        for (std::size_t j = 0; j < n; ++j) sums[j] += value * row[j];
      }
      for (std::size_t j = 0; j < n; ++j) out[i * out_stride + first + j] += factor * sums[j];
    }
  }
}

}  // namespace

constinit const ProductKernels kProductKernels = {add};

}  // namespace quiver::generic
