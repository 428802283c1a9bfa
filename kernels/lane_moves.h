// Where the lanes of a mask of eight go, for levels that cannot compress a register.
#pragma once

#include <cstdint>

namespace quiver {

struct LaneMoves {
  std::uint8_t order[256][8];  ///< by mask: the lanes that are set, in order
  std::uint8_t rank[256][8];   ///< by mask: the place of each lane among them; 128 if not set
};

constexpr LaneMoves make_lane_moves() {
  LaneMoves moves = {};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::uint8_t n = 0;
    for (std::uint8_t lane = 0; lane < 8; ++lane) {
      const bool set = (mask >> lane & 1) != 0;
      moves.rank[mask][lane] = set ? n : 128;
      if (set) moves.order[mask][n++] = lane;
    }
  }
  return moves;
}

alignas(64) inline constexpr LaneMoves kLaneMoves = make_lane_moves();

}  // namespace quiver
