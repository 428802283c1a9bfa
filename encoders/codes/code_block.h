// Writing blocks of sixteen rows of codes (`CodeBlocks` in kernels/codes/codes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "encoders/codes/factors.h"
#include "kernels/kernels.h"

namespace quiver::encoders {

/// Zeroes a block. A row that is never written then scores 0 plus the base.
void clear_block(const CodeBlocks& shape, std::byte* block);
/// Writes the codes of row `i` of a block; `codes` is `[32 * n_lines]` values of `n_bits` bits.
void put_codes(const CodeBlocks& shape, std::span<const std::uint8_t> codes, std::size_t i,
               std::byte* block);
void put_factors(const CodeBlocks& shape, const RowFactors& factors, std::size_t i,
                 std::byte* block);

}  // namespace quiver::encoders
