// Scans of codes against the definition, on every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "tests/kernels/support.h"

namespace quiver {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

struct alignas(64) Line {
  std::uint8_t bytes[64];
};

/// Random blocks, and each row's code for the definition.
struct Rows {
  Rows(std::size_t n_blocks, std::uint32_t n_lines, std::uint32_t n_bits, std::mt19937& random)
      : blocks{nullptr, n_lines, n_bits, n_blocks},
        codes(n_blocks * 16 * n_lines * 32),
        factors(n_blocks * 32) {
    memory.resize(n_blocks * blocks.block_bytes() / 64);
    blocks.first = reinterpret_cast<const std::byte*>(memory.data());
    for (auto& code : codes) code = static_cast<std::uint8_t>(random() % (1U << n_bits));
    std::normal_distribution<float> normal;
    for (auto& factor : factors) factor = normal(random);
    for (std::size_t b = 0; b < n_blocks; ++b) write(b);
  }

  /// Sets all bits of all codes.
  void fill() {
    std::ranges::fill(codes, static_cast<std::uint8_t>((1U << blocks.n_bits) - 1));
    for (std::size_t b = 0; b < blocks.n; ++b) write(b);
  }

  void write(std::size_t b) {
    const std::size_t dim = blocks.n_lines * 32;
    Line* block = memory.data() + b * blocks.block_bytes() / 64;
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t d = 0; d < dim; ++d) {
        for (std::uint32_t bit = 0; bit < blocks.n_bits; ++bit) {
          const unsigned set = codes[(b * 16 + row) * dim + d] >> (blocks.n_bits - 1 - bit) & 1;
          block[bit * blocks.n_lines + d / 32].bytes[row * 4 + d % 32 / 8] |=
              static_cast<std::uint8_t>(set << (d % 8));
        }
      }
    }
    std::copy_n(factors.begin() + static_cast<std::ptrdiff_t>(b * 32), 32,
                reinterpret_cast<float*>(block + blocks.n_lines * blocks.n_bits));
  }

  /// Estimate by definition, with a query that is not rounded.
  [[nodiscard]] double estimate(std::size_t i, const std::vector<float>& query, float base) const {
    const std::size_t dim = blocks.n_lines * 32;
    const double middle = ((1U << blocks.n_bits) - 1) / 2.0;
    double product = 0;
    for (std::size_t d = 0; d < dim; ++d) product += query[d] * (codes[i * dim + d] - middle);
    return base + factors[i / 16 * 32 + 16 + i % 16] + factors[i / 16 * 32 + i % 16] * product;
  }

  CodeBlocks blocks;
  std::vector<Line> memory;
  std::vector<std::uint8_t> codes;
  std::vector<float> factors;  ///< 16 scale, 16 add for each block
};

struct Query {
  Query(std::uint32_t n_lines, std::mt19937& random) : values(n_lines * 32) {
    std::normal_distribution<float> normal;
    for (auto& value : values) value = normal(random);
  }
  CodeTables prepare(const KernelTable& table, std::uint32_t n_lines) {
    lines.assign(n_lines * 2, {});
    return table.codes.prepare(values.data(), n_lines,
                               reinterpret_cast<std::uint8_t*>(lines.data()));
  }
  std::vector<float> values;
  std::vector<Line> lines;
};

struct Found {
  std::vector<float> scores;
  std::vector<std::uint32_t> positions;
  bool operator==(const Found&) const = default;
};

Found scan(const KernelTable& table, const CodeTables& tables, const CodeBlocks& blocks, float base,
           float threshold, const std::uint16_t* allowed, std::size_t room = 1 << 14) {
  Found found;
  std::vector<float> scores(room);
  std::vector<std::uint32_t> positions(room);
  for (std::size_t done = 0; done < blocks.n;) {
    CodeHits hits{scores.data(), positions.data(), room};
    CodeBlocks rest = blocks;
    rest.first += done * blocks.block_bytes();
    rest.n -= done;
    const auto first = static_cast<std::uint32_t>(100 + done * 16);
    const std::size_t n = table.codes.scan(
        tables, rest, base, threshold, allowed == nullptr ? nullptr : allowed + done, first, hits);
    EXPECT_GT(n, 0U);
    if (n == 0) break;
    done += n;
    found.scores.insert(found.scores.end(), hits.scores, hits.scores + hits.n);
    found.positions.insert(found.positions.end(), hits.positions, hits.positions + hits.n);
  }
  return found;
}

TEST(Codes, EstimatesAreThoseOfTheDefinitionButForRoundedTables) {
  std::mt19937 random(3);
  for (const std::uint32_t n_lines : {2U, 3U, 12U, 25U, 33U, 64U}) {
    for (const std::uint32_t n_bits : {1U, 2U, 4U, 8U}) {
      const Rows rows(5, n_lines, n_bits, random);
      Query query(n_lines, random);
      for (const auto* table : available()) {
        const auto tables = query.prepare(*table, n_lines);
        const auto found = scan(*table, tables, rows.blocks, 0.25F, kNever, nullptr);
        ASSERT_EQ(found.scores.size(), 80U) << table->name;
        // The error of each group is at most half a step, times the weight of its bits.
        const double most = 0.5 * tables.step * n_lines * 8 * ((1U << n_bits) - 1);
        for (std::size_t i = 0; i < 80; ++i) {
          const double wanted = rows.estimate(i, query.values, 0.25F);
          const double scale = std::fabs(rows.factors[i / 16 * 32 + i % 16]);
          ASSERT_NEAR(found.scores[i], wanted, scale * most + 1e-3) << table->name << " row " << i;
          ASSERT_EQ(found.positions[i], 100 + i);
        }
      }
    }
  }
}

TEST(Codes, LevelsAgreeOnEveryBit) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const auto n_lines = static_cast<std::uint32_t>(2 + random() % 80);
    const auto n_bits = static_cast<std::uint32_t>(1 + random() % 8);
    Rows rows(1 + random() % 40, n_lines, n_bits, random);
    Query query(n_lines, random);
    if (round == 0) std::ranges::fill(query.values, 0.0F);
    if (round % 10 == 1) {  // the largest sums there are
      std::ranges::fill(query.values, 1.0F);
      rows.fill();
    }
    std::vector<std::uint16_t> allowed(rows.blocks.n);
    for (auto& mask : allowed) mask = static_cast<std::uint16_t>(random() % 3 == 0 ? 0 : random());
    const float threshold = round % 2 == 0 ? kNever : 0.5F;
    const std::size_t room = 16 + random() % 50;
    const auto* filter = round % 3 == 0 ? nullptr : allowed.data();
    const KernelTable& reference = *available().back();
    const auto wanted = scan(reference, query.prepare(reference, n_lines), rows.blocks, 1.5F,
                             threshold, filter, room);
    for (const float score : wanted.scores) ASSERT_GT(score, threshold);
    for (const std::uint32_t position : wanted.positions) {
      const std::uint32_t i = position - 100;
      ASSERT_TRUE(filter == nullptr || (filter[i / 16] >> (i % 16) & 1) != 0);
    }
    for (const auto* table : available()) {
      ASSERT_EQ(
          scan(*table, query.prepare(*table, n_lines), rows.blocks, 1.5F, threshold, filter, room),
          wanted)
          << table->name << " round " << round;
    }
  }
}

TEST(Codes, AllowedAreTheBitsOfRows) {
  std::mt19937 random(7);
  std::vector<std::uint64_t> bits(40);
  for (auto& word : bits) word = random() | std::uint64_t{random()} << 32;
  std::vector<std::uint32_t> rows(16 * 9);
  constexpr std::uint32_t kLast = 40 * 64 - 2;
  for (auto& row : rows) {
    row = static_cast<std::uint32_t>(random() % 4 == 0 ? random() : random() % (40 * 64));
  }
  for (const auto* table : available()) {
    std::vector<std::uint16_t> allowed(9);
    table->codes.allowed(rows.data(), allowed.size(), bits.data(), kLast, allowed.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint32_t row = std::min(rows[i], kLast);
      ASSERT_EQ(allowed[i / 16] >> (i % 16) & 1, bits[row / 64] >> (row % 64) & 1) << table->name;
    }
  }
}

TEST(Codes, BytesAreTheNearestWholeNumbers) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  std::vector<float> values(96);
  for (auto& value : values) value = normal(random);
  values[3] = 2.5F / 40;
  for (const auto* table : available()) {
    std::vector<std::int8_t> bytes(values.size());
    const std::int32_t sum = table->codes.to_bytes(values.data(), values.size(), 40, bytes.data());
    std::int32_t wanted_sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float wanted = std::clamp(std::nearbyint(values[i] * 40), -127.0F, 127.0F);
      ASSERT_EQ(bytes[i], wanted) << table->name << " " << values[i];
      wanted_sum += bytes[i];
    }
    EXPECT_EQ(sum, wanted_sum);
  }
}

TEST(Codes, KeepsTheBest) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + random() % 300;
    const std::size_t want = 1 + random() % 120;
    std::vector<float> scores(n + 15);
    std::vector<std::uint32_t> positions(n + 15);
    for (std::size_t i = 0; i < n; ++i) {
      scores[i] = round % 4 == 0 ? static_cast<float>(random() % 4) : normal(random);
      positions[i] = static_cast<std::uint32_t>(i);
    }
    if (round % 5 == 0) scores[random() % n] = std::numeric_limits<float>::infinity();
    std::vector<float> first_scores;
    for (const auto* table : available()) {
      auto own_scores = scores;
      auto own_positions = positions;
      CodeHits hits{own_scores.data(), own_positions.data(), n, n};
      const float threshold = table->codes.keep_best(hits, want);
      ASSERT_GE(hits.n, std::min(n, want)) << table->name;
      std::vector<std::uint32_t> wanted;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (scores[i] >= threshold) wanted.push_back(i);
      }
      own_positions.resize(hits.n);
      ASSERT_EQ(own_positions, wanted) << table->name;
      own_scores.resize(hits.n);
      if (first_scores.empty()) first_scores = own_scores;
      ASSERT_EQ(own_scores, first_scores) << table->name;
    }
  }
}

TEST(Codes, ClosesInOnTheNumberWanted) {
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  std::vector<float> scores(400);
  for (auto& score : scores) score = normal(random);
  std::vector<std::uint32_t> positions(400);
  CodeHits hits{scores.data(), positions.data(), 400, 400};
  kernels().codes.keep_best(hits, 64);
  EXPECT_LE(hits.n, 68U);
}

}  // namespace
}  // namespace quiver
