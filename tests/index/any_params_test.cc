#include "index/any_params.h"

#include <gtest/gtest.h>

#include <string_view>

namespace quiver::index {
namespace {

struct SomeParams {
  static constexpr std::string_view kWhat = "parameters of `some`";
  int value = 7;
};

/// As large as `SomeParams`, and of the same fields.
struct OtherParams {
  static constexpr std::string_view kWhat = "parameters of `other`";
  int value = 8;
};

TEST(AnyParams, NothingIsTheDefaultsOfWhoeverReads) {
  const AnyParams nothing;
  ASSERT_TRUE(nothing.as<SomeParams>());
  EXPECT_EQ((*nothing.as<SomeParams>())->value, 7);
  EXPECT_EQ((*nothing.as<OtherParams>())->value, 8);
}

TEST(AnyParams, HoldsACopyThatItsCopiesShare) {
  SomeParams given{3};
  AnyParams copy;
  {
    const AnyParams params(given);
    given.value = 4;
    copy = params;
    EXPECT_EQ(*copy.as<SomeParams>(), *params.as<SomeParams>()) << "one object for all copies";
  }
  EXPECT_EQ((*copy.as<SomeParams>())->value, 3);
}

TEST(AnyParams, ParametersOfAnotherStructAreAnErrorThatNamesBoth) {
  const AnyParams params(SomeParams{3});
  const auto wrong = params.as<OtherParams>();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::kInternal);
  EXPECT_EQ(wrong.error().message(), "found parameters of `some`, wanted parameters of `other`");
}

}  // namespace
}  // namespace quiver::index
