// Build parameters of a graph.
#pragma once

#include <cstdint>

namespace quiver::index::dense {

struct LinkParams {
  /// Links per row: a multiple of 16, up to 128.
  std::uint32_t degree = 32;
  /// Bits per dimension of the codes beside the links.
  std::uint32_t bits = 2;
  /// Near rows among which a row's links are chosen.
  std::uint32_t candidates = 128;
  /// `effort` of the search for them.
  std::uint32_t effort = 48;
};

}  // namespace quiver::index::dense
