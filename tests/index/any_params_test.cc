#include <gtest/gtest.h>

#include <string_view>

#include "index/any_params.h"

namespace quiver::index::testing {
namespace {

struct FirstParams {
  static constexpr std::string_view kWhat = "search parameters of `first`";
  int value = 3;
};
struct SecondParams {
  static constexpr std::string_view kWhat = "search parameters of `second`";
  int value = 4;
};

TEST(AnyParams, WithoutAValueTheyAreTheDefaultsOfWhoReadsThem) {
  EXPECT_EQ(AnyParams().as<FirstParams>().value()->value, 3);
  EXPECT_EQ(AnyParams().as<SecondParams>().value()->value, 4);
}

TEST(AnyParams, CopiesShareTheValue) {
  const AnyParams params(FirstParams{7});
  const AnyParams copy = params;
  EXPECT_EQ(copy.as<FirstParams>().value()->value, 7);
  EXPECT_EQ(copy.as<FirstParams>().value(), params.as<FirstParams>().value());
}

TEST(AnyParams, AnotherTypeIsAnErrorAndNeverADefault) {
  const auto wrong = AnyParams(FirstParams{7}).as<SecondParams>();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::kInternal);
  EXPECT_EQ(wrong.error().message(),
            "found search parameters of `first`, wanted search parameters of `second`");
}

}  // namespace
}  // namespace quiver::index::testing
