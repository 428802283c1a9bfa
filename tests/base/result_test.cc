#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace quiver {
namespace {

Result<int> positive(int x) {
  if (x > 0) return x;
  return fail(Code::kOutOfRange, "found " + std::to_string(x) + ", wanted more than 0");
}

Result<std::unique_ptr<int>> doubled(int x) {
  QV_TRY(const int y, positive(x));
  QV_TRY(positive(y));
  return std::make_unique<int>(2 * y);
}

Result<> nothing(int x) {
  QV_TRY(auto owned, doubled(x));
  QV_TRY(*owned, positive(*owned - 2));
  return {};
}

TEST(Result, PassesValuesAndErrorsOn) {
  EXPECT_EQ(**doubled(3), 6);
  EXPECT_TRUE(nothing(3));
  EXPECT_EQ(doubled(-1).error().to_string(), "out_of_range: found -1, wanted more than 0");
  EXPECT_EQ(nothing(1).error().code(), Code::kOutOfRange);
}

TEST(Result, AnErrorNamesItsSubject) {
  const Result<> failed =
      fail(Code::kNotFound, Subject::kCollection, "books", "collection `books` does not exist");
  EXPECT_EQ(failed.error().subject(), Subject::kCollection);
  EXPECT_EQ(failed.error().subject_name(), "books");
  EXPECT_EQ(Error(Code::kInternal, "x").subject(), Subject::kNone);
}

TEST(Result, CodesAreThoseOfGrpc) {
  EXPECT_EQ(static_cast<int>(Code::kNotFound), 5);
  EXPECT_EQ(static_cast<int>(Code::kUnauthenticated), 16);
  EXPECT_EQ(to_string(Code::kDataLoss), "data_loss");
}

}  // namespace
}  // namespace quiver
