// Counting bits. `std::popcount` calls a library where no instruction is certain to exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quiver {

/// Number of set bits. Uses the processor's instruction if it has one.
[[nodiscard]] std::size_t count_bits(std::span<const std::uint64_t> words);
[[nodiscard]] std::size_t count_bits(std::span<const std::uint16_t> words);

}  // namespace quiver
