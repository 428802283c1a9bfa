#include "payload/filter/slice.h"

#include <gtest/gtest.h>

#include <vector>

#include "payload/filter/filter_tree.h"

namespace quiver::payload {
namespace {

// Values of the reference implementation of SipHash-2-4 with a zero key.
TEST(Slice, HashIsSipHash) {
  EXPECT_EQ(slice_hash(PointId::number(0)), 0xe849'e8bb'6ffe'2567U);
  EXPECT_EQ(slice_hash(PointId::number(42)), 0x0fc2'553f'0761'9dd3U);
  const auto uuid = PointId::parse_uuid("550e8400-e29b-41d4-a716-446655440000");
  EXPECT_EQ(slice_hash(*uuid), 0xf5d0'ca21'ba34'd504U);
}

TEST(Slice, EveryPointIsInOneSliceOfAboutEqualSize) {
  constexpr std::uint32_t kTotal = 7;
  std::vector<std::uint32_t> sizes(kTotal, 0);
  for (std::uint64_t i = 0; i < 7000; ++i) {
    const PointId id = i % 2 == 0 ? PointId::number(i) : PointId::uuid(0, i);
    std::uint32_t n = 0;
    for (std::uint32_t index = 0; index < kTotal; ++index) {
      if (!is_in_slice({kTotal, index}, id)) continue;
      ++sizes[index];
      ++n;
    }
    ASSERT_EQ(n, 1U) << id.to_string();
  }
  for (const std::uint32_t size : sizes) EXPECT_NEAR(size, 1000, 150);
}

TEST(Slice, IndexMustBeLessThanTotal) {
  Filter filter;
  filter.must = {Slice{4, 4}};
  const auto tree = build_tree(filter, {});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code(), Code::kInvalidArgument);
  EXPECT_NE(tree.error().message().find("must be less than the total of 4 slices"),
            std::string::npos);
}

}  // namespace
}  // namespace quiver::payload
