// How a graph of near rows is built.
#pragma once

#include <cstdint>

namespace quiver::index::dense {

struct LinkParams {
  /// Links of a row, a multiple of 16 up to 128.
  std::uint32_t degree = 32;
  /// Bits a dimension of the codes that lie beside the links.
  std::uint32_t bits = 2;
  /// Near rows that a row's links are chosen among.
  std::uint32_t candidates = 64;
  /// How hard these are searched for; 128 is usual.
  std::uint32_t effort = 48;
};

}  // namespace quiver::index::dense
