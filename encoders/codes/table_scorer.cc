#include "encoders/codes/table_scorer.h"

#include <algorithm>
#include <limits>

namespace quiver::encoders {

// Every row is above the threshold, so the hits are the scores of all rows, in order.
void TableScorer::score(const std::byte* blocks, std::size_t n_blocks, float* out) const {
  constexpr std::size_t kBlocks = 64;
  std::uint32_t positions[kBlocks * CodeBlocks::kRows];
  CodeBlocks part = shape_;
  for (std::size_t first = 0; first < n_blocks; first += kBlocks) {
    part.first = blocks + first * shape_.block_bytes();
    part.n = std::min(kBlocks, n_blocks - first);
    CodeHits hits{out + first * CodeBlocks::kRows, positions, part.n * CodeBlocks::kRows, 0};
    kernels().codes.scan(tables_, part, base_, -std::numeric_limits<float>::infinity(), nullptr, 0,
                         hits);
  }
}

}  // namespace quiver::encoders
