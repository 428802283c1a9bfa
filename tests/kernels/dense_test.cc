#include <algorithm>
#include <bit>
#include <limits>

#include "tests/kernels/forms.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240501;
constexpr std::size_t kRows = 7;

using DenseTest = KernelTest;
QV_EVERY_LEVEL(DenseTest);

// Every length, at byte offsets and strides that suit no register.
TEST_P(DenseTest, MeetsTheBoundAtEveryLength) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim = 0; dim <= 300; ++dim) {
    const auto query = random_floats(dim, random);
    for (RowType type : kAllRowTypes) {
      const StoredRows rows(2, dim, type, dim % 5, dim % 7, random);
      for (Similarity similarity : kAllSimilarities) {
        for (std::size_t i = 0; i < 2; ++i) {
          const Exact want = exact(similarity, query.get(), rows, i, dim);
          const float got = k().dense(similarity, type).one(query.get(), dim, rows.row(i));
          ASSERT_NEAR(got, want.similarity, bound(dim, want.magnitude))
              << "dim " << dim << " type " << int(type) << " similarity " << int(similarity)
              << " seed " << kSeed;
        }
      }
    }
  }
}

TEST_P(DenseTest, ARowScoresTheSameBitsInEveryForm) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim :
       {0, 1, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 200, 300, 384, 1000}) {
    const auto query = random_floats(dim, random);
    for (RowType type : kAllRowTypes) {
      for (Similarity similarity : kAllSimilarities) {
        const StoredRows rows(kRows, dim, type, dim % 3, dim % 4, random);
        check_rows(k().dense(similarity, type), query.get(), dim, rows, kRows, random);
      }
    }
  }
}

TEST_P(DenseTest, ATileScoresTheSameBits) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {0, 1, 7, 16, 17, 31, 64, 65, 100, 127, 128, 300, 385}) {
    for (std::size_t n_queries : {0, 1, 2, 3, 4, 5, 7, 8, 11}) {
      const std::size_t stride = dim + dim % 5;
      const auto queries = random_floats(n_queries * stride, random);
      for (RowType type : kAllRowTypes) {
        for (Similarity similarity : kAllSimilarities) {
          const StoredRows rows(kRows, dim, type, dim % 3, dim % 4, random);
          check_tile(k().dense(similarity, type), {queries.get(), stride, n_queries}, dim, rows,
                     kRows, random);
        }
      }
    }
  }
}

/// Queries in bf16 in a block of exactly their size.
std::unique_ptr<std::uint16_t[]> random_bf16(std::size_t n, std::mt19937& random) {
  std::unique_ptr<std::uint16_t[]> values(new std::uint16_t[n]);
  const auto floats = random_floats(n, random);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(floats[i]) >> 16);
  }
  return values;
}

TEST_P(DenseTest, Bf16DotMeetsTheBoundAtEveryLength) {
  std::mt19937 random(kSeed);
  const auto& kernel = k().dense_family.bf16_dot;
  for (std::uint32_t dim = 0; dim <= 300; ++dim) {
    const auto query = random_bf16(dim, random);
    std::vector<float> widened(dim);
    for (std::uint32_t i = 0; i < dim; ++i) {
      widened[i] = static_cast<float>(bf16_value(query[i]));
    }
    const StoredRows rows(2, dim, RowType::kBf16, dim % 5, dim % 7, random);
    for (std::size_t i = 0; i < 2; ++i) {
      const Exact want = exact(Similarity::kDot, widened.data(), rows, i, dim);
      ASSERT_NEAR(kernel.one(query.get(), dim, rows.row(i)), want.similarity,
                  bound(dim, want.magnitude) + dim * 0x1p-126)
          << "dim " << dim << " seed " << kSeed;
    }
  }
}

TEST_P(DenseTest, Bf16DotHasTheSameBitsInEveryForm) {
  std::mt19937 random(kSeed);
  const auto& kernel = k().dense_family.bf16_dot;
  for (std::uint32_t dim : {0, 1, 15, 16, 31, 32, 33, 96, 127, 128, 129, 200, 384}) {
    const auto queries = random_bf16(8 * dim, random);
    const StoredRows rows(kRows, dim, RowType::kBf16, dim % 3, dim % 4, random);
    check_rows(kernel, queries.get(), dim, rows, kRows, random);
    for (std::size_t n : {1, 2, 3, 5, 8}) {
      check_tile(kernel, {queries.get(), dim, n}, dim, rows, kRows, random);
    }
  }
}

TEST_P(DenseTest, TheAddressDoesNotShowInTheBits) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {5, 16, 77, 384}) {
    const auto query = random_floats(dim, random);
    for (RowType type : kAllRowTypes) {
      for (Similarity similarity : kAllSimilarities) {
        std::vector<float> scores;
        for (std::size_t offset = 0; offset < 70; ++offset) {
          std::mt19937 same(kSeed + dim);
          const StoredRows rows(1, dim, type, 0, offset, same);
          scores.push_back(k().dense(similarity, type).one(query.get(), dim, rows.row(0)));
        }
        for (float score : scores) ASSERT_TRUE(same_bits(score, scores[0])) << "dim " << dim;
      }
    }
  }
}

// The largest and smallest values of each type, and each in turn in an otherwise empty row.
TEST_P(DenseTest, ExtremeValues) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {1, 8, 19, 70}) {
    const std::vector<float> ones(dim, 1.0f);
    const DenseKernels* dot = nullptr;
    for (std::uint32_t d = 0; d < dim; ++d) {
      StoredRows f32(1, dim, RowType::kF32, 0, 0, random);
      StoredRows f16(1, dim, RowType::kF16, 0, 0, random);
      StoredRows u8(1, dim, RowType::kU8, 0, 0, random);
      for (std::uint32_t i = 0; i < dim; ++i)
        f32.set_f32(0, i, 0), f16.set_f16(0, i, 0), u8.set_u8(0, i, 0);
      dot = &k().dense(Similarity::kDot, RowType::kF32);
      for (float value :
           {1e-45f, 1e-38f, 3.4e38f, -3.4e38f, std::numeric_limits<float>::infinity()}) {
        f32.set_f32(0, d, value);
        EXPECT_EQ(dot->one(ones.data(), dim, f32.row(0)), value) << "dim " << dim << " at " << d;
      }
      dot = &k().dense(Similarity::kDot, RowType::kF16);
      for (std::uint16_t half : {0x0001, 0x03ff, 0x7bff, 0xfbff, 0x7c00}) {
        f16.set_f16(0, d, half);
        EXPECT_EQ(dot->one(ones.data(), dim, f16.row(0)), half_value(half))
            << "dim " << dim << " at " << d;
      }
      u8.set_u8(0, d, 255);
      EXPECT_EQ(k().dense(Similarity::kDot, RowType::kU8).one(ones.data(), dim, u8.row(0)), 255.0f);
      EXPECT_EQ(k().dense(Similarity::kNegL2Squared, RowType::kU8).one(ones.data(), dim, u8.row(0)),
                -(254.0f * 254.0f + static_cast<float>(dim - 1)));
      EXPECT_EQ(k().dense(Similarity::kNegL1, RowType::kU8).one(ones.data(), dim, u8.row(0)),
                -(254.0f + static_cast<float>(dim - 1)));
    }
  }
}

TEST_P(DenseTest, EqualRowsAreAtDistanceZero) {
  std::mt19937 random(kSeed);
  const StoredRows rows(1, 77, RowType::kF32, 0, 0, random);
  std::vector<float> query(77);
  std::memcpy(query.data(), rows.row(0), 77 * 4);
  for (Similarity similarity : {Similarity::kNegL2Squared, Similarity::kNegL1}) {
    EXPECT_TRUE(
        same_bits(k().dense(similarity, RowType::kF32).one(query.data(), 77, rows.row(0)), 0.0f));
  }
}

TEST(Metrics, MapToSimilarities) {
  EXPECT_EQ(similarity_of(Metric::kDot), Similarity::kDot);
  EXPECT_EQ(similarity_of(Metric::kCosine), Similarity::kDot);
  EXPECT_EQ(similarity_of(Metric::kEuclid), Similarity::kNegL2Squared);
  EXPECT_EQ(similarity_of(Metric::kManhattan), Similarity::kNegL1);
}

}  // namespace
}  // namespace quiver::testing
