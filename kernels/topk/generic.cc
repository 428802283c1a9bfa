// No branches: every position is written, and the count grows only for those that stay.
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

std::size_t at_least(const float* scores, std::size_t n, float threshold,
                     std::uint32_t* positions) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    positions[count] = static_cast<std::uint32_t>(i);
    count += scores[i] >= threshold;
  }
  return count;
}

}  // namespace

constinit const TopKKernels kTopKKernels = {at_least};

}  // namespace quiver::generic
