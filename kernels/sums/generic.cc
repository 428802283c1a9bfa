#include "kernels/levels.h"

namespace quiver::generic {
namespace {

bool is_allowed(const std::uint64_t* allowed, std::size_t i) {
  return allowed == nullptr || (allowed[i / 64] >> (i % 64) & 1) != 0;
}

std::size_t at_least(const std::uint16_t* sums, std::size_t n, std::uint16_t threshold,
                     const std::uint64_t* allowed, std::uint16_t* positions) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (sums[i] < threshold || !is_allowed(allowed, i)) continue;
    positions[count++] = static_cast<std::uint16_t>(i);
  }
  return count;
}

std::size_t count_at_least(const std::uint16_t* sums, std::size_t n, std::uint16_t threshold,
                           const std::uint64_t* allowed) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    count += sums[i] >= threshold && is_allowed(allowed, i) ? 1 : 0;
  }
  return count;
}

}  // namespace

constinit const SumKernels kSumKernels = {at_least, count_at_least};

}  // namespace quiver::generic
