#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "tests/kernels/forms.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240507;
constexpr std::size_t kRows = 11;

using BinaryTest = KernelTest;
QV_EVERY_LEVEL(BinaryTest);

std::unique_ptr<std::uint8_t[]> random_bytes(std::size_t n, std::mt19937& random) {
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[n]);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(random());
  return bytes;
}

bool bit(const std::uint8_t* bytes, std::size_t i) { return bytes[i / 8] >> (i % 8) & 1; }

struct Slow {
  std::uint32_t hamming = 0;
  std::uint32_t common = 0;
  std::uint32_t dot_4bit = 0;
};

/// Counts bit by bit. Hamming and common read the first plane of `query` only.
Slow slow(const std::uint8_t* query, const std::byte* row, std::uint32_t dim) {
  Slow result;
  const auto* code = reinterpret_cast<const std::uint8_t*>(row);
  for (std::size_t i = 0; i < std::size_t{dim} * 8; ++i) {
    result.hamming += bit(query, i) != bit(code, i);
    result.common += bit(query, i) && bit(code, i);
    for (std::size_t p = 0; p < 4; ++p) {
      result.dot_4bit += (bit(query + p * dim, i) && bit(code, i) ? 1U : 0U) << p;
    }
  }
  return result;
}

TEST_P(BinaryTest, EqualsBitByBitAtEveryLength) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim = 0; dim <= 300; ++dim) {
    const auto query = random_bytes(4 * std::size_t{dim}, random);
    const StoredRows rows(5, dim, RowType::kU8, dim % 5, dim % 7, random);
    std::uint32_t hamming[5], common[5], dot_4bit[5];
    k().binary.hamming.many(query.get(), dim, rows.data(), rows.stride(), 5, hamming);
    k().binary.common.many(query.get(), dim, rows.data(), rows.stride(), 5, common);
    k().binary.dot_4bit.many(query.get(), dim, rows.data(), rows.stride(), 5, dot_4bit);
    for (std::size_t i = 0; i < 5; ++i) {
      const Slow want = slow(query.get(), rows.row(i), dim);
      ASSERT_EQ(hamming[i], want.hamming) << "dim " << dim << " seed " << kSeed;
      ASSERT_EQ(common[i], want.common) << "dim " << dim << " seed " << kSeed;
      ASSERT_EQ(dot_4bit[i], want.dot_4bit) << "dim " << dim << " seed " << kSeed;
    }
  }
}

TEST_P(BinaryTest, EveryFormGivesTheSame) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {0, 1, 8, 15, 16, 31, 32, 33, 48, 63, 64, 65, 96, 128, 200}) {
    const std::size_t stride = 4 * dim + 5;
    const auto queries = random_bytes(9 * stride, random);
    const StoredRows rows(kRows, dim, RowType::kU8, dim % 3, dim % 4, random);
    for (const auto* kernel : {&k().binary.hamming, &k().binary.common, &k().binary.dot_4bit}) {
      check_rows(*kernel, queries.get(), dim, rows, kRows, random);
      for (std::size_t n : {0, 1, 2, 3, 4, 5, 8, 9}) {
        check_tile(*kernel, {queries.get(), stride, n}, dim, rows, kRows, random);
      }
    }
  }
}

/// Rows of bits with factors behind them.
struct SignRowsOf {
  SignRowsOf(std::size_t n, std::size_t n_bit_bytes, std::mt19937& random)
      : stride((n_bit_bytes + sizeof(SignFactors) + 31) / 32 * 32), bytes(n * stride) {
    std::uniform_real_distribution<float> real(-3, 3);
    for (std::size_t i = 0; i < n; ++i) {
      std::byte* row = bytes.data() + i * stride;
      for (std::size_t b = 0; b < n_bit_bytes; ++b) row[b] = static_cast<std::byte>(random());
      SignFactors factors{real(random), real(random), 0, 0};
      for (std::size_t b = 0; b < 8 * n_bit_bytes; ++b) {
        factors.n_ones += bit(reinterpret_cast<const std::uint8_t*>(row), b) ? 1.0F : 0.0F;
      }
      if (i % 5 == 3) factors.scale = std::numeric_limits<float>::infinity();
      std::memcpy(row + n_bit_bytes, &factors, sizeof factors);
    }
  }
  std::size_t stride;
  std::vector<std::byte> bytes;
};

/// Every level gives the bits of the plain formula, also where it overflows.
TEST_P(BinaryTest, EstimatesEqualTheFormula) {
  std::mt19937 random(kSeed);
  constexpr std::size_t kCodes = 200;
  for (std::size_t n_bit_bytes : {4, 8, 16, 20, 48, 52, 96, 128, 192, 496, 500, 1024}) {
    const SignRowsOf rows(kCodes, n_bit_bytes, random);
    std::vector<std::uint8_t> planes(4 * rows.stride);
    for (std::size_t i = 0; i < planes.size(); ++i) {
      if (i % rows.stride < n_bit_bytes) planes[i] = static_cast<std::uint8_t>(random());
    }
    for (const std::uint32_t n_planes : {4U, 1U}) {
      const SignQueryView query{planes.data(), n_planes, -0.7F, 0.11F, 1.3F, -2.5F};
      const SignCodes codes{rows.bytes.data(), rows.stride, n_bit_bytes};
      for (std::size_t n : {0, 1, 3, 4, 5, 63, 64, 131}) {
        std::vector<std::uint32_t> ids(n);
        for (auto& id : ids) id = static_cast<std::uint32_t>(random() % kCodes);
        const std::unique_ptr<float[]> out(new float[n]);  // not one more
        k().binary.estimate(query, codes, ids.data(), n, out.get());
        for (std::size_t i = 0; i < n; ++i) {
          const std::byte* row = rows.bytes.data() + ids[i] * rows.stride;
          SignFactors factors;
          std::memcpy(&factors, row + n_bit_bytes, sizeof factors);
          const auto slow_dots = slow(planes.data(), row, static_cast<std::uint32_t>(rows.stride));
          const auto dot = n_planes == 1 ? slow_dots.common : slow_dots.dot_4bit;
          const float product =
              (query.least * factors.n_ones + query.step * static_cast<float>(dot)) -
              query.half_sum;
          float want = query.base + (factors.add + factors.scale * product);
          if (std::isnan(want)) want = std::numeric_limits<float>::max();
          ASSERT_EQ(out[i], want) << "bytes " << n_bit_bytes << " planes " << n_planes << " seed "
                                  << kSeed;
        }
      }
    }
  }
}

TEST_P(BinaryTest, AllAndNoneOfTheLongestCode) {
  constexpr std::uint32_t kDim = 65536;
  const std::vector<std::uint8_t> ones(4 * kDim, 0xff);
  const std::vector<std::byte> full(kDim, std::byte{0xff});
  const std::vector<std::byte> empty(kDim);
  EXPECT_EQ(k().binary.hamming.one(ones.data(), kDim, full.data()), 0U);
  EXPECT_EQ(k().binary.hamming.one(ones.data(), kDim, empty.data()), kDim * 8);
  EXPECT_EQ(k().binary.common.one(ones.data(), kDim, full.data()), kDim * 8);
  EXPECT_EQ(k().binary.common.one(ones.data(), kDim, empty.data()), 0U);
  EXPECT_EQ(k().binary.dot_4bit.one(ones.data(), kDim, full.data()), kDim * 8 * 15);
}

}  // namespace
}  // namespace quiver::testing
