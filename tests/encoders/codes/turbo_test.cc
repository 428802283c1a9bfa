#include "encoders/codes/turbo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <tuple>

#include "base/hash.h"
#include "kernels/kernels.h"
#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

using encoders::RowLength;
using encoders::SquareRotation;
using encoders::TurboCode;
using Row = std::vector<std::byte>;

constexpr unsigned kTurboSeed = 20261124;
constexpr std::uint32_t kBits[] = {4, 8, 16};
constexpr std::uint32_t kTurboDims[] = {1,   2,   3,   4,    5,    7,    8,   15,  16,
                                        31,  33,  63,  64,   65,   96,   100, 127, 128,
                                        129, 200, 384, 1000, 1024, 1536, 2049};

Row encoded(const TurboCode& code, const std::vector<float>& vector,
            RowLength length = RowLength::kKept) {
  Row row(code.row_bytes(), std::byte{0xAA});
  code.encode(vector.data(), length, row.data());
  return row;
}

std::vector<float> decoded(const TurboCode& code, const Row& row) {
  std::vector<float> vector(code.dim(), -1.0f);
  code.decode(row.data(), vector.data());
  return vector;
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm(difference) / norm(b);
}

std::string where(std::uint32_t dim, std::uint32_t bits) {
  return "dim " + std::to_string(dim) + ", bits " + std::to_string(bits) + ", seed " +
         std::to_string(kTurboSeed);
}

TEST(SquareRotation, IsOrthonormalAndHasAnInverse) {
  std::mt19937 random(kTurboSeed);
  for (const std::uint32_t dim : kTurboDims) {
    const SquareRotation rotation(dim, 7);
    const auto a = normal_vector(dim, random);
    const auto b = normal_vector(dim, random);
    std::vector<float> ra(dim), rb(dim), back(dim);
    rotation.apply(a.data(), ra.data());
    rotation.apply(b.data(), rb.data());
    EXPECT_NEAR(dot(ra, rb), dot(a, b), 4e-6 * norm(a) * norm(b)) << "dim " << dim;
    EXPECT_NEAR(norm(ra), norm(a), 4e-6 * norm(a)) << "dim " << dim;
    rotation.apply_inverse(ra.data(), back.data());
    EXPECT_LT(relative_error(back, a), 4e-6) << "dim " << dim;
  }
}

TEST(SquareRotation, SpreadsAnySingleValue) {
  for (const std::uint32_t dim : {64u, 96u, 127u, 129u, 384u, 1000u, 1024u}) {
    const SquareRotation rotation(dim, 7);
    for (std::uint32_t d = 0; d < dim; d += 13) {
      std::vector<float> unit(dim, 0.0f);
      unit[d] = 1;
      rotation.apply(unit.data(), unit.data());
      const float largest = std::abs(*std::max_element(
          unit.begin(), unit.end(), [](float x, float y) { return std::abs(x) < std::abs(y); }));
      EXPECT_LT(largest, 6 / std::sqrt(static_cast<float>(dim))) << "dim " << dim << " at " << d;
    }
  }
}

TEST(TurboCode, BytesOfARow) {
  EXPECT_EQ(TurboCode(384, 4).row_bytes(), 196u);
  EXPECT_EQ(TurboCode(5, 4).row_bytes(), 7u);
  EXPECT_EQ(TurboCode(384, 8).row_bytes(), 388u);
  EXPECT_EQ(TurboCode(384, 16).row_bytes(), 772u);
}

// Bounds: 4 bits leave .0974 of a normal vector of many dimensions (Max 1960), less of few.
TEST(TurboCode, KeepsVectorsWithinItsError) {
  std::mt19937 random(kTurboSeed);
  for (const std::uint32_t dim : kTurboDims) {
    for (const std::uint32_t bits : kBits) {
      const TurboCode code(dim, bits);
      double sum = 0;
      for (int i = 0; i < 20; ++i) {
        const auto vector = normal_vector(dim, random);
        const auto back = decoded(code, encoded(code, vector));
        EXPECT_NEAR(norm(back), norm(vector), 3e-5 * norm(vector)) << where(dim, bits);
        sum += relative_error(back, vector) / 20;
      }
      const double most = bits == 4 ? 0.098 : bits == 8 ? 0.0095 : 6e-5;
      EXPECT_LT(sum, most) << where(dim, bits);
    }
  }
}

// Shapes that data has: one value, equal values, one outlier, two sizes, few values.
std::vector<std::vector<float>> shapes(std::uint32_t dim, std::mt19937& random) {
  std::vector<std::vector<float>> all;
  for (int i = 0; i < 20; ++i) all.push_back(normal_vector(dim, random));
  std::vector<float> one(dim, 0.0f);
  one[dim / 2] = -3;
  all.push_back(one);
  all.emplace_back(dim, 0.5f);
  auto outlier = normal_vector(dim, random);
  outlier[0] = 1e6f;
  all.push_back(outlier);
  auto sparse = normal_vector(dim, random);
  for (float& value : sparse) value = value > 1 ? value : 0;
  sparse[0] = 1;
  all.push_back(sparse);
  for (const float factor : {1e30f, 1e-27f}) {
    auto scaled = normal_vector(dim, random);
    for (float& value : scaled) value *= factor;
    all.push_back(scaled);
  }
  return all;
}

TEST(TurboCode, EncodingWhatWasDecodedGivesTheSameBytes) {
  std::mt19937 random(kTurboSeed);
  for (const std::uint32_t dim : kTurboDims) {
    for (const std::uint32_t bits : kBits) {
      const TurboCode code(dim, bits);
      for (const auto& vector : shapes(dim, random)) {
        for (const RowLength length : {RowLength::kKept, RowLength::kOne}) {
          const Row row = encoded(code, vector, length);
          const auto back = decoded(code, row);
          ASSERT_EQ(encoded(code, back, length), row) << where(dim, bits);
        }
      }
    }
  }
}

TEST(TurboCode, WorstVectorsStayTheirCodes) {
  // The rotation of these is one value: all others get a level that they do not have.
  for (const std::uint32_t dim : {64u, 100u, 1024u}) {
    const TurboCode code(dim, 4);
    std::vector<float> vector(dim, 0.0f);
    vector[1] = 1;
    code.rotation().apply_inverse(vector.data(), vector.data());
    const Row row = encoded(code, vector);
    EXPECT_EQ(encoded(code, decoded(code, row)), row) << "dim " << dim;
  }
}

/// Max 1960, table 1, 16 levels, with signs; then rotated back by the transposed matrix of
/// `apply`.
std::vector<double> slowly_decoded(const TurboCode& code, const Row& row) {
  constexpr double kSizes[] = {.1284, .3881, .6568, .9424, 1.2562, 1.6181, 2.0690, 2.7326};
  float scale = 0;
  std::memcpy(&scale, row.data(), 4);
  std::vector<double> vector(code.dim(), 0.0);
  std::vector<float> column(code.dim());
  for (std::uint32_t d = 0; d < code.dim(); ++d) {
    std::fill(column.begin(), column.end(), 0.0f);
    column[d] = 1;
    code.rotation().apply(column.data(), column.data());
    for (std::uint32_t i = 0; i < code.dim(); ++i) {
      const int pair = static_cast<int>(row[4 + i / 2]);
      const int number = i % 2 == 0 ? pair % 16 : pair / 16;
      const double level = number < 8 ? -kSizes[7 - number] : kSizes[number - 8];
      vector[d] += double{column[i]} * level * double{scale};
    }
  }
  return vector;
}

TEST(TurboCode, DecodesAsTheSlowWayDoes) {
  std::mt19937 random(kTurboSeed);
  for (const std::uint32_t dim : {1u, 5u, 64u, 100u, 129u}) {
    const TurboCode code(dim, 4);
    const Row row = encoded(code, normal_vector(dim, random));
    const auto wanted = slowly_decoded(code, row);
    const auto got = decoded(code, row);
    for (std::uint32_t d = 0; d < dim; ++d) {
      ASSERT_NEAR(got[d], wanted[d], 4e-6 * norm(wanted)) << where(dim, 4) << " value " << d;
    }
  }
}

TEST(TurboCode, LengthOne) {
  std::mt19937 random(kTurboSeed);
  for (const std::uint32_t bits : kBits) {
    const TurboCode code(100, bits);
    const auto back = decoded(code, encoded(code, normal_vector(100, random), RowLength::kOne));
    EXPECT_NEAR(norm(back), 1, 1e-6) << where(100, bits);
  }
}

TEST(TurboCode, ZeroAndTinyVectorsAreZero) {
  for (const std::uint32_t bits : kBits) {
    const TurboCode code(10, bits);
    for (const float value : {0.0f, -0.0f, 1e-42f}) {
      const std::vector<float> vector(10, value);
      const Row row = encoded(code, vector);
      EXPECT_EQ(row, Row(code.row_bytes())) << where(10, bits) << " value " << value;
      for (const float zero : decoded(code, row)) EXPECT_EQ(std::signbit(zero) ? -1 : zero, 0);
    }
  }
}

TEST(TurboCode, LongestVectorsStayFinite) {
  for (const std::uint32_t dim : {1u, 64u, 100u, 4096u}) {
    const std::vector<float> vector(dim, static_cast<float>(2.99e38 / std::sqrt(dim)));
    for (const std::uint32_t bits : kBits) {
      const TurboCode code(dim, bits);
      for (const float value : decoded(code, encoded(code, vector))) {
        ASSERT_TRUE(std::isfinite(value)) << where(dim, bits);
      }
    }
  }
}

TEST(TurboCode, RotatedRowsGiveTheProductsOfDecodedOnes) {
  std::mt19937 random(kTurboSeed);
  for (const std::uint32_t dim : {3u, 64u, 384u, 1000u}) {
    for (const std::uint32_t bits : kBits) {
      const TurboCode code(dim, bits);
      const auto query = normal_vector(dim, random);
      const Row row = encoded(code, normal_vector(dim, random));
      const auto vector = decoded(code, row);
      std::vector<float> rotated_query(dim), rotated(dim);
      code.rotation().apply(query.data(), rotated_query.data());
      TurboCode::decode_rotated(row.data(), dim, bits, rotated.data());
      EXPECT_NEAR(dot(rotated_query, rotated), dot(query, vector),
                  8e-6 * norm(query) * norm(vector))
          << where(dim, bits);
    }
  }
}

// Rows on disk and what they stand for: these bits never change, on any instruction level.
TEST(TurboCode, GoldenBytes) {
  for (const auto& [dim, bits, wanted] : {std::tuple{5u, 4u, 0x196e924e12e66670ull},
                                          {100u, 4u, 0x7fc30db5385657b7ull},
                                          {384u, 4u, 0xd00a9252b6716de9ull},
                                          {1024u, 4u, 0x7736971b21dec2c1ull},
                                          {384u, 8u, 0xbc15d6eb3909a4b7ull},
                                          {384u, 16u, 0x4a97dc625f7fee7aull}}) {
    std::vector<float> vector(dim);
    for (std::uint32_t i = 0; i < dim; ++i) {
      vector[i] = static_cast<float>(static_cast<int>(i * 7919 % 1009) - 500) / 256.0f;
    }
    const TurboCode code(dim, bits);
    const Row row = encoded(code, vector);
    const auto back = decoded(code, row);
    EXPECT_EQ(encoded(code, back), row) << where(dim, bits);
    EXPECT_EQ(hash_bytes(std::as_bytes(std::span(back)), hash_bytes(row)), wanted)
        << where(dim, bits);
  }
}

}  // namespace
}  // namespace quiver::testing
