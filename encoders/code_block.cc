#include "encoders/code_block.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace quiver::encoders {

void clear_block(const CodeBlocks& shape, std::byte* block) {
  std::memset(block, 0, shape.block_bytes());
}

void put_codes(const CodeBlocks& shape, std::span<const std::uint8_t> codes, std::size_t i,
               std::byte* block) {
  std::byte* at = block + i * sizeof(std::uint32_t);
  for (std::uint32_t bit = shape.n_bits; bit-- > 0;) {
    for (std::uint32_t line = 0; line < shape.n_lines; ++line, at += 64) {
      std::uint32_t word = 0;
      for (std::uint32_t d = 0; d < 32; ++d) {
        word |= static_cast<std::uint32_t>(codes[line * 32 + d] >> bit & 1) << d;
      }
      std::memcpy(at, &word, sizeof word);
    }
  }
}

void put_factors(const CodeBlocks& shape, const RowFactors& factors, std::size_t i,
                 std::byte* block) {
  std::byte* scales = block + shape.block_bytes() - 128;
  std::memcpy(scales + i * sizeof(float), &factors.scale, sizeof(float));
  std::memcpy(scales + 64 + i * sizeof(float), &factors.add, sizeof(float));
}

// Every row is above the threshold, so hits are the scores of all rows in order.
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
