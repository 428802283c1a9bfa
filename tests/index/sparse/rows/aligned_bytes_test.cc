#include <gtest/gtest.h>

#include <cstdint>

#include "index/sparse/rows/aligned_bytes.h"

namespace quiver::index::sparse::testing {
namespace {

TEST(AlignedBytes, AreZeroAlignedAndKeptAlive) {
  SharedBytes shared;
  {
    AlignedBytes bytes(100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % AlignedBytes::kBytes, 0U);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(bytes.data()[i], std::byte{0});
    bytes.data()[99] = std::byte{7};
    shared = bytes.share();
  }
  ASSERT_EQ(shared.size(), 100U);
  EXPECT_EQ(shared.data()[99], std::byte{7});
}

}  // namespace
}  // namespace quiver::index::sparse::testing
