#include "storage/rows/keys.h"

#include <gtest/gtest.h>

#include <string>

namespace quiver::storage {
namespace {

TEST(Keys, PointKeysEqualThoseOfPointId) {
  for (const PointId id : {PointId::number(0), PointId::number(258), PointId::number(~0ULL),
                           PointId::uuid(1, 2), PointId::uuid(~0ULL, 3)}) {
    EXPECT_EQ(PointKey(id).view(), id.to_key()) << id.to_string();
  }
}

TEST(Keys, OperationsSortByNumber) {
  std::string before;
  for (const std::uint64_t number : {0ULL, 1ULL, 255ULL, 256ULL, 1ULL << 40, ~0ULL}) {
    const OpKey key(Seq{number});
    EXPECT_LT(before, key.view());
    EXPECT_EQ(OpKey::parse(key.view()), Seq{number});
    before = key.view();
  }
}

TEST(Keys, OperationsHaveEightBytes) {
  EXPECT_EQ(OpKey::parse("1234567"), std::nullopt);
  EXPECT_EQ(OpKey::parse("123456789"), std::nullopt);
  EXPECT_EQ(OpKey::parse(""), std::nullopt);
}

}  // namespace
}  // namespace quiver::storage
