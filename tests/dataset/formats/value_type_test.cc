#include "dataset/formats/value_type.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace quiver::dataset {
namespace {

/// The bytes of `values`, behind one byte, so that nothing is aligned.
template <class T>
std::vector<std::byte> unaligned(const std::vector<T>& values) {
  std::vector<std::byte> bytes(1 + values.size() * sizeof(T));
  std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));
  return bytes;
}

template <class T>
std::vector<float> as_f32(ValueType type, const std::vector<T>& values) {
  std::vector<float> out(values.size());
  to_f32(type, unaligned(values).data() + 1, out);
  return out;
}

template <class T>
std::vector<std::int64_t> as_i64(ValueType type, const std::vector<T>& values) {
  std::vector<std::int64_t> out(values.size());
  to_i64(type, unaligned(values).data() + 1, out);
  return out;
}

TEST(ValueType, EveryTypeBecomesF32) {
  EXPECT_EQ(as_f32(ValueType::kF32, std::vector<float>{-1.5F, 3e38F}),
            (std::vector<float>{-1.5F, 3e38F}));
  EXPECT_EQ(as_f32(ValueType::kF64, std::vector<double>{0.1, 1e300}),
            (std::vector<float>{0.1F, std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(std::isnan(as_f32(ValueType::kF64, std::vector<double>{std::nan("")})[0]));
  EXPECT_EQ(as_f32(ValueType::kF16, std::vector<std::uint16_t>{0x3c00, 0xc000, 0x7c00}),
            (std::vector<float>{1, -2, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(as_f32(ValueType::kU8, std::vector<std::uint8_t>{0, 255}),
            (std::vector<float>{0, 255}));
  EXPECT_EQ(as_f32(ValueType::kI8, std::vector<std::int8_t>{-128, 127}),
            (std::vector<float>{-128, 127}));
  EXPECT_EQ(as_f32(ValueType::kI16, std::vector<std::int16_t>{-3}), std::vector<float>{-3});
  EXPECT_EQ(as_f32(ValueType::kU16, std::vector<std::uint16_t>{65535}), std::vector<float>{65535});
  EXPECT_EQ(as_f32(ValueType::kI32, std::vector<std::int32_t>{-70000}), std::vector<float>{-70000});
  EXPECT_EQ(as_f32(ValueType::kU32, std::vector<std::uint32_t>{1U << 31}),
            std::vector<float>{0x1p31F});
  EXPECT_EQ(as_f32(ValueType::kI64, std::vector<std::int64_t>{-5}), std::vector<float>{-5});
  EXPECT_EQ(as_f32(ValueType::kU64, std::vector<std::uint64_t>{1ULL << 63}),
            std::vector<float>{0x1p63F});
}

TEST(ValueType, IntegersBecomeI64) {
  EXPECT_EQ(as_i64(ValueType::kI32, std::vector<std::int32_t>{-7, 7}),
            (std::vector<std::int64_t>{-7, 7}));
  EXPECT_EQ(as_i64(ValueType::kU32, std::vector<std::uint32_t>{UINT32_MAX}),
            std::vector<std::int64_t>{UINT32_MAX});
  EXPECT_LT(as_i64(ValueType::kU64, std::vector<std::uint64_t>{UINT64_MAX})[0], 0);
}

TEST(ValueType, NamesAndSizes) {
  EXPECT_EQ(to_string(ValueType::kF16), "f16");
  EXPECT_EQ(to_string(ValueType::kU64), "u64");
  EXPECT_EQ(bytes_per_value(ValueType::kF16), 2);
  EXPECT_EQ(bytes_per_value(ValueType::kI64), 8);
  EXPECT_TRUE(is_integer(ValueType::kU16));
  EXPECT_FALSE(is_integer(ValueType::kF16));
}

TEST(ValueType, SwapsTheBytesOfEachValue) {
  std::array<std::byte, 4> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  swap_bytes(ValueType::kI16, bytes);
  EXPECT_EQ(bytes, (std::array{std::byte{2}, std::byte{1}, std::byte{4}, std::byte{3}}));
}

}  // namespace
}  // namespace quiver::dataset
