// Random lists of codes and second codes, and what the CPU says of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu/devices.h"
#include "kernels/kernels.h"
#include "tests/gpu/support.h"

namespace quiver::gpu::testing {

/// An estimate and its position.
using Code = std::pair<float, std::uint32_t>;

/// The best come first; of equal ones the lowest position.
inline bool is_better(const Code& a, const Code& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}

/// Lists of 0 to `most_blocks` blocks of random bits. `are_equal`: all rows are alike.
inline CodeLists random_lists(std::uint32_t n_lists, std::uint32_t most_blocks,
                              std::uint32_t n_lines, std::uint32_t n_bits, bool are_equal,
                              Random& random) {
  CodeLists lists;
  std::vector<std::uint32_t> first_blocks = {0};
  for (std::uint32_t i = 0; i < n_lists; ++i) {
    first_blocks.push_back(first_blocks.back() + random() % (most_blocks + 1));
  }
  lists.blocks.n_lines = n_lines;
  lists.blocks.n_bits = n_bits;
  lists.blocks.n = first_blocks.back();
  const std::size_t block_bytes = lists.blocks.block_bytes();
  // A line more, so that the first one can be aligned.
  std::vector<std::byte> memory(lists.blocks.n * block_bytes + 64);
  const std::size_t skipped = (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  std::normal_distribution<float> normal;
  for (std::uint32_t b = 0; b < lists.blocks.n; ++b) {
    std::byte* const block = memory.data() + skipped + b * block_bytes;
    for (std::size_t i = 0; i < block_bytes - 128; ++i) {
      block[i] = are_equal ? std::byte{0x5A} : static_cast<std::byte>(random());
    }
    for (std::size_t i = 0; i < 32; ++i) {
      const float value = are_equal ? 0.5F : normal(random);
      std::memcpy(block + block_bytes - 128 + i * sizeof value, &value, sizeof value);
    }
  }
  lists.bytes = SharedBytes::of(std::move(memory)).subspan(skipped, lists.blocks.n * block_bytes);
  lists.blocks.first = lists.bytes.data();
  lists.first_blocks = SharedSpan<std::uint32_t>::of(std::move(first_blocks));
  return lists;
}

/// Tables of a query on cache lines, and some of the lists.
struct RandomListQuery {
  struct alignas(64) Line {
    std::uint8_t bytes[64];
  };
  std::vector<Line> memory;
  CodeTables tables;
  std::vector<ListVisit> visits;
  std::uint64_t k = 1;

  RandomListQuery(const CodeLists& lists, std::uint32_t n_visits, std::uint64_t wanted,
                  Random& random)
      : memory(std::size_t{lists.blocks.n_lines} * 2), k(wanted) {
    const auto vector = random_vector(lists.blocks.n_lines * 32, Kind::kNormal, random);
    tables = kernels().codes.prepare(vector.data(), lists.blocks.n_lines, memory[0].bytes);
    std::vector<std::uint32_t> order(lists.first_blocks.size() - 1);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    std::normal_distribution<float> normal;
    for (std::uint32_t i = 0; i < std::min<std::size_t>(n_visits, order.size()); ++i) {
      visits.push_back({order[i], normal(random)});
    }
  }
  [[nodiscard]] ListQuery asked() const { return {tables, visits, k}; }
};

/// Estimates of all codes that the query visits, by the CPU's kernel; best first.
inline std::vector<Code> scan_on_cpu(const CodeLists& lists, const ListQuery& query) {
  std::vector<Code> codes;
  for (const ListVisit& visit : query.visits) {
    CodeBlocks blocks = lists.blocks;
    blocks.first += lists.first_blocks[visit.list] * blocks.block_bytes();
    blocks.n = lists.first_blocks[visit.list + 1] - lists.first_blocks[visit.list];
    std::vector<float> scores(blocks.n * 16 + 16);
    std::vector<std::uint32_t> positions(scores.size());
    CodeHits hits{scores.data(), positions.data(), scores.size(), 0};
    kernels().codes.scan(query.tables, blocks, visit.base, -INFINITY, nullptr,
                         lists.first_blocks[visit.list] * 16, hits);
    for (std::size_t i = 0; i < hits.n; ++i) codes.emplace_back(scores[i], positions[i]);
  }
  std::sort(codes.begin(), codes.end(), is_better);
  return codes;
}

/// Fails unless `found` are the best `k` and those as good as the last of them, with the same bits.
inline void expect_best(const ScoredCodes& found, const CodeLists& lists, const ListQuery& query) {
  auto wanted = scan_on_cpu(lists, query);
  std::size_t n = std::min<std::size_t>(wanted.size(), query.k);
  while (n > 0 && n < wanted.size() && wanted[n].first == wanted[n - 1].first) ++n;
  wanted.resize(n);
  std::vector<Code> codes;
  for (std::size_t i = 0; i < found.scores.size(); ++i) {
    codes.emplace_back(found.scores[i], found.positions[i]);
  }
  std::sort(codes.begin(), codes.end(), is_better);
  ASSERT_EQ(codes.size(), wanted.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    ASSERT_EQ(codes[i].second, wanted[i].second) << i;
    ASSERT_EQ(std::memcmp(&codes[i].first, &wanted[i].first, sizeof(float)), 0) << i;
  }
}

inline ByteCodes random_bytes(std::uint64_t n_rows, std::uint32_t dim, std::uint32_t n_bits,
                              Random& random) {
  ByteCodes codes{{}, n_rows, dim, n_bits, (dim * n_bits / 8 + 63) / 64 * 64};
  std::vector<std::byte> bytes(n_rows * codes.stride);
  for (std::uint64_t row = 0; row < n_rows; ++row) {
    for (std::uint32_t i = 0; i < dim * n_bits / 8; ++i) {
      bytes[row * codes.stride + i] = static_cast<std::byte>(random());
    }
  }
  codes.bytes = SharedBytes::of(std::move(bytes));
  return codes;
}

/// Value of dimension `d` of a row.
inline std::int32_t value_of(const ByteCodes& codes, std::uint32_t row, std::uint32_t d) {
  const std::byte* const bytes = codes.bytes.data() + std::size_t{row} * codes.stride;
  if (codes.n_bits == 8) return std::to_integer<std::int32_t>(bytes[d]);
  const auto both = std::to_integer<std::int32_t>(bytes[d / 32 * 16 + d % 16]);
  return d % 32 < 16 ? both & 15 : both >> 4;
}

struct RandomProductQuery {
  std::vector<std::int8_t> values;
  std::vector<std::uint32_t> rows;

  RandomProductQuery(const ByteCodes& codes, std::uint32_t n_pairs, Random& random) {
    for (std::uint32_t d = 0; d < codes.dim; ++d) {
      values.push_back(static_cast<std::int8_t>(random() % 255 - 127));
    }
    for (std::uint32_t i = 0; i < n_pairs; ++i) {
      rows.push_back(static_cast<std::uint32_t>(random() % codes.n_rows));
    }
  }
  [[nodiscard]] ProductQuery asked() const { return {values, rows}; }
};

inline std::vector<std::int32_t> multiply_on_cpu(const ByteCodes& codes,
                                                 const ProductQuery& query) {
  std::vector<std::int32_t> products;
  for (const std::uint32_t row : query.rows) {
    std::int32_t sum = 0;
    for (std::uint32_t d = 0; d < codes.dim; ++d) sum += query.values[d] * value_of(codes, row, d);
    products.push_back(sum);
  }
  return products;
}

}  // namespace quiver::gpu::testing
