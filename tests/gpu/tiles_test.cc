// The layouts of a warp's products, by a product that follows the PTX manual lane by lane; and keys
// of floats.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "gpu/tiles/fragments.h"
#include "gpu/tiles/select.h"

namespace quiver::gpu::tiles {
namespace {

/// mma.m16n8k32 as the manual defines it ("Matrix Fragments for mma.m16n8k32", .s8): element i of a
/// lane's A is in row groupID, or groupID + 8 for i in [4, 8) and [12, 16), and column threadID * 4
/// + i % 4, plus 16 from i = 8 on; element i of B is in row threadID * 4 + i % 4, plus 16 from i =
/// 4 on, and column groupID.
struct Warp {
  std::int8_t a[32][16];
  std::int8_t b[32][8];
  int c[32][4];

  void multiply() {
    int rows[16][32];
    int columns[32][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane >> 2;
      const int thread = lane % 4;
      for (int i = 0; i < 16; ++i) {
        const bool is_upper = (i >= 0 && i < 4) || (i >= 8 && i < 12);
        rows[is_upper ? group : group + 8][thread * 4 + (i & 3) + (i >= 8 ? 16 : 0)] = a[lane][i];
      }
      for (int i = 0; i < 8; ++i) {
        columns[thread * 4 + (i & 3) + (i >= 4 ? 16 : 0)][group] = b[lane][i];
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = i < 2 ? lane >> 2 : (lane >> 2) + 8;
        const int column = lane % 4 * 2 + (i & 1);
        c[lane][i] = 0;
        for (int k = 0; k < 32; ++k) c[lane][i] += rows[row][k] * columns[k][column];
      }
    }
  }
};

TEST(Tiles, AWarpMultipliesRowsAndColumns) {
  std::mt19937 random(1);
  std::int8_t rows[16][32];
  std::int8_t columns[8][32];
  for (auto& row : rows)
    std::ranges::generate(row, [&] { return static_cast<std::int8_t>(random() % 255 - 127); });
  for (auto& column : columns) {
    std::ranges::generate(column, [&] { return static_cast<std::int8_t>(random() % 255 - 127); });
  }
  Warp warp;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 16; ++i) {
      const Word word = word_of_a(lane, i / 4);
      warp.a[lane][i] = rows[word.vector][word.byte + i % 4];
    }
    for (unsigned i = 0; i < 8; ++i) {
      const Word word = word_of_b(lane, i / 4);
      warp.b[lane][i] = columns[word.vector][word.byte + i % 4];
    }
  }
  warp.multiply();
  std::vector<int> seen(16 * 8);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = row_of_c(lane, i);
      const unsigned column = column_of_c(lane, i);
      int wanted = 0;
      for (int k = 0; k < 32; ++k) wanted += rows[row][k] * columns[column][k];
      EXPECT_EQ(warp.c[lane][i], wanted) << "lane " << lane << " register " << i;
      ++seen[row * 8 + column];
    }
  }
  EXPECT_EQ(std::ranges::count(seen, 1), 16 * 8);
}

TEST(Tiles, KeysHaveTheOrderOfFloats) {
  std::vector<float> values = {-INFINITY, -1e30F, -1, -1e-30F, -1e-45F, 0,
                               1e-45F,    1e-30F, 1,  2,       1e30F,   INFINITY};
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const auto key = [&](std::size_t j) {
      return key_of_bits(std::bit_cast<std::uint32_t>(values[j]));
    };
    EXPECT_LT(key(i), key(i + 1)) << values[i];
    EXPECT_EQ(std::bit_cast<float>(bits_of_key(key(i))), values[i]);
  }
}

TEST(Tiles, TheSampleHasEnoughSlabs) {
  for (const unsigned k : {1U, 10U, 100U, 1000U, 4096U}) {
    for (const unsigned n_tiles : {1U, 2U, 10U, 79U, 1000U, 7813U, 100000U}) {
      const unsigned step = sample_step(n_tiles, k);
      EXPECT_GE(step, 1U);
      EXPECT_LE(step, 16U);
      const unsigned n_slabs = (n_tiles + step - 1) / step * (kTileRows / kSlabRows);
      if (step > 1) {
        EXPECT_GE(n_slabs, 2 * k) << n_tiles;
      }
    }
  }
}

}  // namespace
}  // namespace quiver::gpu::tiles
