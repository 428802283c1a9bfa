#include "encoders/codes/code_block.h"

#include <cstring>

namespace quiver::encoders {

void clear_block(const CodeBlocks& shape, std::byte* block) {
  std::memset(block, 0, shape.block_bytes());
}

namespace {

/// Collects bit `bit` of 32 codes, eight at a time: the product moves bit 8 i to bit 56 + i.
std::uint32_t plane_word(const std::uint8_t* codes, std::uint32_t bit) {
  std::uint32_t word = 0;
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    std::uint64_t eight;
    std::memcpy(&eight, codes + 8 * byte, sizeof eight);
    const std::uint64_t bits = eight >> bit & 0x0101010101010101u;
    word |= static_cast<std::uint32_t>(bits * 0x0102040810204080u >> 56) << (8 * byte);
  }
  return word;
}

}  // namespace

void put_codes(const CodeBlocks& shape, std::span<const std::uint8_t> codes, std::size_t i,
               std::byte* block) {
  std::byte* at = block + i * sizeof(std::uint32_t);
  for (std::uint32_t bit = shape.n_bits; bit-- > 0;) {
    for (std::uint32_t line = 0; line < shape.n_lines; ++line, at += 64) {
      const std::uint32_t word = plane_word(codes.data() + std::size_t{line} * 32, bit);
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

}  // namespace quiver::encoders
