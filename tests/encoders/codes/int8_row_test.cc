#include "encoders/codes/int8_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace quiver::encoders {
namespace {

constexpr unsigned kInt8Seed = 20261125;

std::vector<std::byte> encoded(const std::vector<float>& values,
                               RowLength length = RowLength::kKept) {
  std::vector<std::byte> row(sizeof(float) + values.size(), std::byte{0xAA});
  encode_int8(values, length, row.data());
  return row;
}

/// By the definition of the format.
std::vector<float> slowly_decoded(const std::vector<std::byte>& row) {
  float scale = 0;
  std::memcpy(&scale, row.data(), sizeof(scale));
  std::vector<float> values;
  for (std::size_t i = sizeof(scale); i < row.size(); ++i) {
    values.push_back(
        static_cast<float>(double{static_cast<float>(static_cast<int>(row[i]) -
                                                     (static_cast<int>(row[i]) > 127 ? 256 : 0))} *
                           double{scale}));
  }
  return values;
}

std::vector<float> decoded(const std::vector<std::byte>& row) {
  std::vector<float> values(row.size() - sizeof(float));
  decode_int8(row.data(), values.size(), values.data());
  EXPECT_EQ(values, slowly_decoded(row));
  return values;
}

std::vector<float> random_values(std::size_t n, float size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random) * size;
  return values;
}

std::vector<float> at_length_one(std::vector<float> values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * double{value};
  for (float& value : values) value = static_cast<float>(value / std::sqrt(squares));
  return values;
}

TEST(Int8Row, ValuesAreWithinHalfAStep) {
  std::mt19937 random(kInt8Seed);
  for (const std::size_t dim : {1U, 2U, 7U, 8U, 31U, 384U}) {
    for (const float size : {1e-30F, 0.01F, 1.0F, 1e30F}) {
      SCOPED_TRACE(std::to_string(dim) + " dimensions, seed " + std::to_string(kInt8Seed));
      const auto values = random_values(dim, size, random);
      const auto got = decoded(encoded(values));
      double largest = 0;
      for (const float value : values) largest = std::max(largest, std::abs(double{value}));
      for (std::size_t i = 0; i < dim; ++i) {
        EXPECT_NEAR(got[i], values[i], largest / 254 * 1.001) << i;
      }
    }
  }
}

TEST(Int8Row, EncodingWhatWasDecodedGivesTheSameBytes) {
  std::mt19937 random(kInt8Seed);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t dim = 1 + random() % 100;
    const auto values =
        random_values(dim, std::ldexp(1.0F, static_cast<int>(random() % 200) - 100), random);
    const auto row = encoded(values);
    EXPECT_EQ(encoded(decoded(row)), row) << "round " << i << ", seed " << kInt8Seed;
    const auto unit = encoded(at_length_one(values), RowLength::kOne);
    EXPECT_EQ(encoded(at_length_one(decoded(unit)), RowLength::kOne), unit)
        << "round " << i << ", seed " << kInt8Seed;
  }
}

TEST(Int8Row, OfLengthOne) {
  std::mt19937 random(kInt8Seed);
  for (const std::size_t dim : {1U, 3U, 100U, 1000U}) {
    const auto got =
        decoded(encoded(at_length_one(random_values(dim, 1, random)), RowLength::kOne));
    double squares = 0;
    for (const float value : got) squares += double{value} * double{value};
    EXPECT_NEAR(squares, 1, 1e-6) << dim << " dimensions";
  }
}

TEST(Int8Row, WholeNumbersThatFitLoseNothing) {
  std::vector<float> all;
  for (int i = -128; i < 128; ++i) all.push_back(static_cast<float>(i));
  EXPECT_EQ(decoded(encoded(all)), all);
  EXPECT_EQ(decoded(encoded({3, -1, 0})), (std::vector<float>{3, -1, 0}));
  const auto rounded = decoded(encoded({128, 1, 0}));
  EXPECT_NEAR(rounded[0], 128, 128e-5) << "too large for whole numbers";
  EXPECT_NEAR(rounded[1], 128.0 / 127, 1e-5);
}

TEST(Int8Row, ZerosAndTinyVectors) {
  const std::vector<float> zeros(5, 0.0F);
  EXPECT_EQ(decoded(encoded(zeros)), zeros);
  EXPECT_EQ(decoded(encoded(zeros, RowLength::kOne)), zeros);
  EXPECT_EQ(decoded(encoded({1e-37F, 0, 0, -1e-38F, 0})), zeros);
  EXPECT_NE(decoded(encoded({2e-36F, 0, 0, 0, 0})), zeros);
  EXPECT_NEAR(decoded(encoded({3e38F, -3e38F}))[1], -3e38F, 3e33F);
}

}  // namespace
}  // namespace quiver::encoders
