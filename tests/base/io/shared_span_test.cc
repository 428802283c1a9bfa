#include "base/io/shared_span.h"

#include <gtest/gtest.h>

#include "base/io/append_buffer.h"

namespace quiver {
namespace {

TEST(SharedSpan, CastsBytesToElements) {
  AppendBuffer<std::byte> bytes;
  const std::uint32_t value = 0x01020304;
  bytes.append(std::as_bytes(std::span(&value, 1)));
  const auto cast = cast_span<std::uint32_t>(bytes.view());
  ASSERT_TRUE(cast);
  EXPECT_EQ((*cast)[0], value);
  bytes.append(std::byte{0});
  EXPECT_EQ(cast_span<std::uint32_t>(bytes.view()).error().code(), Code::kDataLoss);
  EXPECT_EQ(cast_span<std::uint32_t>(bytes.view().subspan(1, 4)).error().message(),
            "elements of 4 bytes do not start on a boundary of 4 bytes");
}

TEST(SharedSpan, OwnsAVector) {
  const auto numbers = SharedSpan<int>::of({1, 2, 3});
  const auto tail = numbers.subspan(1, 2);
  EXPECT_EQ(tail.size(), 2U);
  EXPECT_EQ(tail[0], 2);
}

}  // namespace
}  // namespace quiver
