#include "encoders/transforms/rotation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

using encoders::Rotation;

constexpr unsigned kRotationSeed = 20240602;

std::vector<float> rotated(const Rotation& rotation, const std::vector<float>& vector) {
  std::vector<float> out(rotation.padded_dim(), -1.0f);
  rotation.apply(vector.data(), out.data());
  return out;
}

// Powers of two, their neighbours, and dimensions just below one, where the two transforms overlap
// least.
constexpr std::uint32_t kDims[] = {1,   2,   3,    31,   32,   33,   63,   64,   65,
                                   96,  100, 127,  128,  129,  200,  255,  256,  300,
                                   384, 480, 500,  511,  512,  513,  768,  784,  960,
                                   992, 999, 1024, 1536, 2047, 2080, 3072, 4064, 4096};

TEST(Rotation, PaddedDim) {
  EXPECT_EQ(Rotation(1, 0).padded_dim(), 64u);
  EXPECT_EQ(Rotation(64, 0).padded_dim(), 64u);
  EXPECT_EQ(Rotation(65, 0).padded_dim(), 96u);
  EXPECT_EQ(Rotation(384, 0).padded_dim(), 384u);
  EXPECT_EQ(Rotation(385, 0).padded_dim(), 416u);
}

TEST(Rotation, KeepsScalarProductsAndHasAnInverse) {
  std::mt19937 random(kRotationSeed);
  for (std::uint32_t dim : kDims) {
    const Rotation rotation(dim, kRotationSeed);
    const auto a = normal_vector(dim, random);
    const auto b = normal_vector(dim, random);
    const auto ra = rotated(rotation, a);
    const auto rb = rotated(rotation, b);
    EXPECT_NEAR(dot(ra, rb), dot(a, b), 2e-6 * norm(a) * norm(b)) << "dim " << dim;
    EXPECT_NEAR(norm(ra), norm(a), 2e-6 * norm(a)) << "dim " << dim;
    std::vector<float> back(dim);
    rotation.apply_inverse(ra.data(), back.data());
    for (std::uint32_t d = 0; d < dim; ++d) {
      ASSERT_NEAR(back[d], a[d], 1e-5)
          << "dim " << dim << " value " << d << " seed " << kRotationSeed;
    }
  }
}

TEST(Rotation, IsOrthonormalOnThePaddedSpace) {
  for (std::uint32_t dim : {64u, 96u, 160u, 224u}) {
    const Rotation rotation(dim, kRotationSeed);
    std::vector<std::vector<float>> columns;
    for (std::uint32_t d = 0; d < dim; ++d) {
      std::vector<float> unit(dim, 0.0f);
      unit[d] = 1;
      columns.push_back(rotated(rotation, unit));
    }
    for (std::uint32_t i = 0; i < dim; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) {
        ASSERT_NEAR(dot(columns[i], columns[j]), i == j ? 1.0 : 0.0, 1e-5) << i << " " << j;
      }
    }
  }
}

TEST(Rotation, OneSeedIsOneMap) {
  std::mt19937 random(kRotationSeed);
  for (std::uint32_t dim : {100u, 384u, 512u}) {
    const auto a = normal_vector(dim, random);
    EXPECT_EQ(rotated(Rotation(dim, 7), a), rotated(Rotation(dim, 7), a));
    EXPECT_NE(rotated(Rotation(dim, 7), a), rotated(Rotation(dim, 8), a));
  }
}

// Files depend on the map: these values never change within a version.
TEST(Rotation, Golden) {
  std::vector<float> a(70);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
  const auto r = rotated(Rotation(70, 42), a);
  ASSERT_EQ(Rotation::kVersion, 1u);
  EXPECT_FLOAT_EQ(r[0], -0.054687709f);
  EXPECT_FLOAT_EQ(r[1], -2.160156f);
  EXPECT_FLOAT_EQ(r[95], -0.53906268f);
}

TEST(Rotation, HugeAndTinyVectorsStayFinite) {
  for (float value : {1e37f, 1e-37f}) {
    for (std::uint32_t dim : {64u, 384u}) {
      const std::vector<float> a(dim, value / std::sqrt(static_cast<float>(dim)));
      EXPECT_NEAR(norm(rotated(Rotation(dim, 1), a)) / norm(a), 1.0, 1e-5);
    }
  }
}

/// Vectors that are hard to spread, by number.
std::vector<float> hard_vector(std::uint32_t dim, std::size_t kind, std::size_t i) {
  std::vector<float> a(dim, 0.0f);
  const double phase = static_cast<double>(i) / 10.0;
  for (std::uint32_t d = 0; d < dim; ++d) {
    if (kind == 0) a[d] = d == i * 37 % dim ? 1.0f : 0.0f;
    if (kind == 1) a[d] = static_cast<float>(std::sin(0.02 * d + phase));
    if (kind == 2) a[d] = 1.0f;
    if (kind == 3) a[d] = d + 2 >= dim ? 1.0f : 0.0f;
    if (kind == 4) a[d] = static_cast<float>(std::exp(-0.1 * d));
  }
  return a;
}

/// Statistics that distinguish coordinates of many rotations from draws of a normal distribution.
struct Spread {
  double kurtosis = 0;             ///< 3 of a normal distribution
  double largest = 0;              ///< in standard deviations
  std::array<double, 8> energy{};  ///< of eighths of the dimensions, 1 on the average
};

Spread spread_of(std::uint32_t dim, std::size_t kind, std::size_t n) {
  Spread spread;
  for (std::size_t i = 0; i < n; ++i) {
    const auto r = rotated(Rotation(dim, kRotationSeed + i), hard_vector(dim, kind, i));
    const double variance = dot(r, r) / static_cast<double>(r.size());
    for (std::size_t d = 0; d < r.size(); ++d) {
      const double square = double{r[d]} * r[d] / variance;
      const double share = 1.0 / static_cast<double>(r.size() * n);
      spread.kurtosis += square * square * share;
      spread.largest = std::max(spread.largest, std::sqrt(square));
      spread.energy[d * 8 / r.size()] += 8 * square * share;
    }
  }
  return spread;
}

TEST(Rotation, SpreadsAnyVectorLikeANormalDistribution) {
  for (std::uint32_t dim : {64u, 96u, 100u, 128u, 192u, 256u, 384u, 480u, 768u, 784u, 960u, 992u,
                            1536u, 2080u, 4064u}) {
    for (std::size_t kind = 0; kind < 5; ++kind) {
      const Spread spread = spread_of(dim, kind, 60);
      const std::string what = fmt::format("dim {} kind {} seed {}", dim, kind, kRotationSeed);
      EXPECT_GT(spread.kurtosis, 2.75) << what;
      EXPECT_LT(spread.kurtosis, 3.3) << what;
      EXPECT_LT(spread.largest, 6.0) << what;
      for (double energy : spread.energy) EXPECT_NEAR(energy, 1.0, 0.25) << what;
    }
  }
}

}  // namespace
}  // namespace quiver::testing
