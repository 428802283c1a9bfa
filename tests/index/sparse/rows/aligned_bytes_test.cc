#include "index/sparse/rows/aligned_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace quiver::index::sparse {
namespace {

TEST(AlignedBytes, AreZerosOnALine) {
  for (const std::size_t n : {1U, 63U, 64U, 65U, 1000U}) {
    AlignedBytes bytes(n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % AlignedBytes::kBytes, 0U);
    const SharedBytes shared = bytes.share();
    ASSERT_EQ(shared.size(), n);
    EXPECT_TRUE(
        std::all_of(shared.begin(), shared.end(), [](std::byte b) { return b == std::byte{0}; }));
  }
  EXPECT_EQ(AlignedBytes(0).share().size(), 0U);
}

TEST(AlignedBytes, LiveAsLongAsTheyAreShared) {
  SharedBytes shared;
  {
    AlignedBytes bytes(100);
    bytes.data()[99] = std::byte{7};
    shared = bytes.share();
    EXPECT_EQ(shared.data(), bytes.data());
  }
  EXPECT_EQ(shared[99], std::byte{7});
}

}  // namespace
}  // namespace quiver::index::sparse
