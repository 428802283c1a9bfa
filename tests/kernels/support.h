// Shared by the kernel tests: every level as a test parameter, stored rows in buffers without a
// spare byte (so that AddressSanitizer sees an over-read), and arithmetic in double to compare
// with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::testing {

inline constexpr DType kAllDTypes[] = {DType::kF32, DType::kF16, DType::kU8, DType::kBf16};
inline constexpr Similarity kAllSimilarities[] = {Similarity::kDot, Similarity::kNegL2Squared,
                                                  Similarity::kNegL1};

inline constexpr RowType kAllRowTypes[] = {RowType::kF32, RowType::kF16, RowType::kU8, RowType::kI8,
                                           RowType::kBf16};

class KernelTest : public ::testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& k() const { return *GetParam(); }
};

inline std::string level_name(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return info.param->name;
}

#define QV_EVERY_LEVEL(suite) \
  INSTANTIATE_TEST_SUITE_P(   \
      Levels, suite, ::testing::ValuesIn(available().begin(), available().end()), level_name)

/// Value of a half, by definition.
inline double half_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = half & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

inline double bf16_value(std::uint16_t value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

inline std::size_t bytes_of(RowType type) {
  return type == RowType::kF32 ? 4 : type == RowType::kF16 || type == RowType::kBf16 ? 2 : 1;
}

/// `[n_rows, dim]` values of one type, the first row `offset` bytes into a heap block that ends
/// with the last value.
class StoredRows {
 public:
  StoredRows(std::size_t n_rows, std::uint32_t dim, DType dtype, std::size_t padding,
             std::size_t offset, std::mt19937& random)
      : StoredRows(n_rows, dim, row_type(dtype), padding, offset, random) {}
  StoredRows(std::size_t n_rows, std::uint32_t dim, RowType type, std::size_t padding,
             std::size_t offset, std::mt19937& random)
      : type_(type),
        stride_(dim * bytes_of(type) + padding),
        size_(offset + (n_rows == 0 ? 0 : (n_rows - 1) * stride_ + dim * bytes_of(type))),
        memory_(new std::byte[size_]),
        first_(memory_.get() + offset) {
    std::memset(memory_.get(), 0xff, size_);  // NaN between the rows
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (std::uint32_t d = 0; d < dim; ++d) set_random(i, d, random);
    }
  }

  void set_f32(std::size_t i, std::uint32_t d, float v) { std::memcpy(place(i, d), &v, 4); }
  void set_f16(std::size_t i, std::uint32_t d, std::uint16_t v) { std::memcpy(place(i, d), &v, 2); }
  void set_u8(std::size_t i, std::uint32_t d, std::uint8_t v) { std::memcpy(place(i, d), &v, 1); }

  double at(std::size_t i, std::uint32_t d) const {
    float f32;
    std::uint16_t f16;
    if (type_ == RowType::kF32) return std::memcpy(&f32, place(i, d), 4), f32;
    if (type_ == RowType::kF16) return std::memcpy(&f16, place(i, d), 2), half_value(f16);
    if (type_ == RowType::kBf16) return std::memcpy(&f16, place(i, d), 2), bf16_value(f16);
    if (type_ == RowType::kI8) return static_cast<std::int8_t>(*place(i, d));
    return static_cast<double>(*place(i, d));
  }
  const std::byte* row(std::size_t i) const { return first_ + i * stride_; }
  const std::byte* data() const { return first_; }
  std::size_t stride() const { return stride_; }

 private:
  std::byte* place(std::size_t i, std::uint32_t d) const {
    return first_ + i * stride_ + d * bytes_of(type_);
  }
  void set_random(std::size_t i, std::uint32_t d, std::mt19937& random) {
    if (type_ == RowType::kF32) set_f32(i, d, std::normal_distribution<float>()(random));
    // Finite halves of either sign, |x| < 4; every byte.
    if (type_ == RowType::kF16) {
      set_f16(i, d, static_cast<std::uint16_t>(random() % 0x4400 | (random() & 0x8000)));
    }
    if (type_ == RowType::kBf16) {  // |x| < 4, subnormals among them
      set_f16(i, d, static_cast<std::uint16_t>(random() % 0x4080 | (random() & 0x8000)));
    }
    if (bytes_of(type_) == 1) set_u8(i, d, static_cast<std::uint8_t>(random()));
  }

  RowType type_;
  std::size_t stride_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* first_;
};

/// Floats in a heap block of exactly their size.
inline std::unique_ptr<float[]> random_floats(std::size_t n, std::mt19937& random) {
  std::unique_ptr<float[]> values(new float[n]);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < n; ++i) values[i] = normal(random);
  return values;
}

struct Exact {
  double similarity = 0;
  double magnitude = 0;  ///< sum of the absolute terms
};

inline Exact exact(Similarity similarity, const float* query, const StoredRows& rows, std::size_t i,
                   std::uint32_t dim) {
  Exact result;
  for (std::uint32_t d = 0; d < dim; ++d) {
    const double q = query[d];
    const double r = rows.at(i, d);
    const double term = similarity == Similarity::kDot            ? q * r
                        : similarity == Similarity::kNegL2Squared ? -(q - r) * (q - r)
                                                                  : -std::abs(q - r);
    result.similarity += term;
    result.magnitude += std::abs(term);
  }
  return result;
}

/// The error bound of kernels.h.
inline double bound(std::uint32_t dim, double magnitude) {
  return dim * (std::ldexp(magnitude, -22) + std::ldexp(1.0, -149));
}

inline bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace quiver::testing
