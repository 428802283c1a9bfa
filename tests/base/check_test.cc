#include "base/check.h"

#include <gtest/gtest.h>

namespace quiver {
namespace {

TEST(Check, PassesWhatIsTrue) {
  int n = 0;
  QV_CHECK(++n == 1);
  EXPECT_EQ(n, 1) << "the expression is evaluated once";
}

TEST(CheckDeathTest, NamesTheExpressionThatFailed) {
  EXPECT_DEATH(QV_CHECK(1 + 1 == 3), "check_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace quiver
