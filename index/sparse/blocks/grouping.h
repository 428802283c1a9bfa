// Blocks: the rows of a posting list, grouped so that one summary describes a few similar rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quiver::index::sparse {

/// Largest number of blocks of a list: block numbers have 16 bits.
inline constexpr std::size_t kMaxBlocks = 65'535;

/// Block b holds `rows[first[b] .. first[b + 1])`.
struct Grouping {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> first;

  [[nodiscard]] std::size_t n_blocks() const { return first.empty() ? 0 : first.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> block(std::size_t b) const {
    return std::span(rows).subspan(first[b], first[b + 1] - first[b]);
  }
};

}  // namespace quiver::index::sparse
