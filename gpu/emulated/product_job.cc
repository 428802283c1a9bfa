#include "gpu/emulated/product_job.h"

#include <algorithm>

namespace quiver::gpu::emulated {

std::int32_t ProductPass::product(const std::int8_t* query, std::uint32_t row) const {
  const std::uint8_t* const codes = bytes_.bytes.data() + std::uint64_t{row} * bytes_.stride;
  std::int32_t sum = 0;
  for (std::uint32_t i = 0; i < bytes_.stride; ++i) {
    if (bytes_.n_bits == 8) {
      sum += query[i] * std::int32_t{codes[i]};
    } else {
      const std::uint32_t low = i / 16 * 32 + i % 16;
      sum += query[low] * (codes[i] & 15) + query[low + 16] * (codes[i] >> 4);
    }
  }
  return sum;
}

bool ProductPass::step() {
  constexpr std::uint32_t kPairsOfStep = 256;
  const std::uint32_t n_values = bytes_.stride * 8 / bytes_.n_bits;
  const std::uint32_t end = std::min(next_ + kPairsOfStep, job_.n_pairs);
  for (; next_ < end; ++next_) {
    const std::int8_t* const query = job_.queries + std::uint64_t{job_.query_of[next_]} * n_values;
    job_.products[next_] = product(query, job_.rows[next_]);
  }
  return next_ == job_.n_pairs;
}

}  // namespace quiver::gpu::emulated
