#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

void write_group(const float* v, float per_unit, std::uint8_t* table) {
  float least = 0;
  for (int k = 0; k < 4; ++k) least += std::min(v[k], 0.0F);
  for (int value = 0; value < 16; ++value) {
    float sum = 0 - least;
    for (int k = 0; k < 4; ++k) sum += (value >> k & 1) != 0 ? v[k] : 0.0F;
    table[value] =
        static_cast<std::uint8_t>(std::clamp(std::nearbyint(sum * per_unit), 0.0F, 255.0F));
  }
}

#include "kernels/codes/groups.inc"

/// A group's range is the sum of its values' magnitudes. The four partial sums are those of the
/// vector levels.
Ranges measure(const float* query, std::size_t n_groups) {
  float widest = 0;
  float sums[4] = {};
  for (std::size_t g = 0; g < n_groups; ++g) {
    const float* v = query + g * 4;
    const float range = (std::fabs(v[0]) + std::fabs(v[1])) + (std::fabs(v[2]) + std::fabs(v[3]));
    sums[g % 4] += range;
    widest = std::max(widest, range);
  }
  return {widest, (sums[0] + sums[1]) + (sums[2] + sums[3])};
}

void write_tables(const float* query, std::size_t n_groups, float per_unit, std::uint8_t* tables) {
  for (std::size_t g = 0; g < n_groups; ++g) {
    write_group(query + g * 4, per_unit, table_of(tables, g));
  }
}

#include "kernels/codes/tables.inc"

std::uint32_t sum_of(const CodeTables& query, const CodeBlocks& blocks, const std::byte* block,
                     std::size_t row) {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 0; bit < blocks.n_bits; ++bit) {
    sum *= 2;
    for (std::uint32_t line = 0; line < blocks.n_lines; ++line, block += 64) {
      const std::uint8_t* tables = query.tables + std::size_t{line} * 128;
      for (std::size_t y = 0; y < 4; ++y) {
        const auto byte = std::to_integer<std::size_t>(block[row * 4 + y]);
        sum += std::uint32_t{tables[y * 16 + byte % 16]} + tables[64 + y * 16 + byte / 16];
      }
    }
  }
  return sum;
}

float factor(const std::byte* factors, std::size_t row) {
  float value = 0;
  std::memcpy(&value, factors + row * sizeof(float), sizeof(float));
  return value;
}

std::size_t scan(const CodeTables& query, const CodeBlocks& blocks, float base, float threshold,
                 const std::uint16_t* allowed, std::uint32_t first_position, CodeHits& hits) {
  const float offset = -0.5F * static_cast<float>((1U << blocks.n_bits) - 1) * query.absolute;
  for (std::size_t b = 0; b < blocks.n; ++b) {
    if (hits.n + CodeBlocks::kRows > hits.room) return b;
    const std::byte* block = blocks.first + b * blocks.block_bytes();
    const std::byte* factors = block + blocks.block_bytes() - 128;
    for (std::size_t row = 0; row < CodeBlocks::kRows; ++row) {
      if (allowed != nullptr && (allowed[b] >> row & 1) == 0) continue;
      const auto sum = static_cast<float>(sum_of(query, blocks, block, row));
      const float product = sum * query.step + offset;
      const float estimate = product * factor(factors, row) + (factor(factors + 64, row) + base);
      if (!(estimate > threshold)) continue;
      hits.scores[hits.n] = estimate;
      hits.positions[hits.n++] = first_position + static_cast<std::uint32_t>(b * 16 + row);
    }
  }
  return blocks.n;
}

std::pair<float, float> extremes(const float* scores, std::size_t n) {
  const auto [low, high] = std::minmax_element(scores, scores + n);
  return {*low, *high};
}

std::size_t count_at_least(const float* scores, std::size_t n, float bar) {
  return static_cast<std::size_t>(
      std::count_if(scores, scores + n, [bar](float score) { return score >= bar; }));
}

#include "kernels/codes/scalar.inc"

void allowed_of(const std::uint32_t* rows, std::size_t n_blocks, const std::uint64_t* bits,
                std::uint32_t last, std::uint16_t* allowed) {
  for (std::size_t b = 0; b < n_blocks; ++b, rows += CodeBlocks::kRows) {
    unsigned mask = 0;
    for (std::size_t i = 0; i < CodeBlocks::kRows; ++i) {
      const std::uint32_t row = std::min(rows[i], last);
      mask |= static_cast<unsigned>(bits[row / 64] >> (row % 64) & 1) << i;
    }
    allowed[b] = static_cast<std::uint16_t>(mask);
  }
}

void compress(CodeHits& hits, float bar) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < hits.n; ++i) {
    hits.scores[n] = hits.scores[i];
    hits.positions[n] = hits.positions[i];
    n += hits.scores[i] >= bar;
  }
  hits.n = n;
}

#include "kernels/codes/select.inc"

}  // namespace

constinit const CodeKernels kCodeKernels = {prepare, scan, allowed_of, to_bytes, keep_best};

}  // namespace quiver::generic
