#include "app/import/reading/bad_rows.h"

#include <gtest/gtest.h>

namespace quiver::app {
namespace {

TEST(BadRowsTest, StopOrSkip) {
  BadRows stopping(OnBadRow::kStop);
  EXPECT_EQ(stopping.add(3, "x").error().message(), "x");
  BadRows skipping(OnBadRow::kSkip);
  EXPECT_TRUE(skipping.add(9, "nine"));
  EXPECT_TRUE(skipping.add(3, "three"));
  EXPECT_EQ(skipping.count(), 2U);
  EXPECT_EQ(skipping.count_before(9), 1U);
  EXPECT_EQ(skipping.before(10).front().text, "three");
  for (std::uint64_t row = 10; row < 10 + 2 * BadRows::kMaxKept; ++row) {
    ASSERT_TRUE(skipping.add(row, "t"));
  }
  EXPECT_EQ(skipping.count(), 2 + 2 * BadRows::kMaxKept);
  EXPECT_EQ(skipping.before(UINT64_MAX).size(), BadRows::kMaxKept);
}

}  // namespace
}  // namespace quiver::app
