#include "payload/column/kinds.h"

#include <gtest/gtest.h>

#include "payload/column/growing_values.h"
#include "payload/column/row_facts.h"
#include "payload/json/document.h"

namespace quiver::payload {
namespace {

class Kinds : public testing::Test {
 protected:
  /// Whether an index of `kind` keeps the element. The last one it kept is in `values_`.
  bool keeps(IndexKind kind, std::string_view element) {
    FieldIndex index;
    index.kind = kind;
    return traits_of(kind).keep(*parse_json(element), index, facts_, values_);
  }

  RowFacts facts_;
  GrowingValues values_;
};

TEST_F(Kinds, EveryKindHasItsRowAndItsName) {
  for (std::size_t i = 0; i < kIndexKindNames.size(); ++i) {
    const auto kind = static_cast<IndexKind>(i);
    EXPECT_EQ(traits_of(kind).kind, kind);
    EXPECT_FALSE(kIndexKindNames[i].empty());
  }
  EXPECT_EQ(kIndexKindNames[static_cast<std::size_t>(IndexKind::kText)], "text");
}

TEST_F(Kinds, KeepElementsOfTheirTypeOnly) {
  EXPECT_TRUE(keeps(IndexKind::kKeyword, R"("x")"));
  EXPECT_FALSE(keeps(IndexKind::kKeyword, "1"));
  EXPECT_TRUE(keeps(IndexKind::kInteger, "-3"));
  EXPECT_FALSE(keeps(IndexKind::kInteger, "1.5"));
  EXPECT_FALSE(keeps(IndexKind::kInteger, "18446744073709551615"));
  EXPECT_TRUE(keeps(IndexKind::kFloat, "18446744073709551615"));
  EXPECT_TRUE(facts_.has(RowFacts::kInexact));
  EXPECT_FALSE(keeps(IndexKind::kFloat, R"("1")"));
  EXPECT_TRUE(keeps(IndexKind::kBool, "true"));
  EXPECT_FALSE(keeps(IndexKind::kBool, "1"));
  EXPECT_TRUE(keeps(IndexKind::kGeo, R"({"lon":1,"lat":2})"));
  EXPECT_FALSE(keeps(IndexKind::kGeo, R"({"lon":1})"));
  EXPECT_TRUE(keeps(IndexKind::kDatetime, R"("1970-01-01T00:00:01Z")"));
  EXPECT_FALSE(keeps(IndexKind::kDatetime, R"("yesterday")"));
  EXPECT_EQ(values_.terms.size(), 2U);
  EXPECT_EQ(values_.integers.span()[1], 1'000'000);
  EXPECT_EQ(values_.doubles.size(), 1U);
  EXPECT_EQ(values_.points.size(), 1U);
  EXPECT_EQ(values_.size(), 6U);
}

TEST_F(Kinds, UuidsHaveOneForm) {
  EXPECT_TRUE(keeps(IndexKind::kUuid, R"("936DA01F-9ABD-4D9D-80C7-02AF85C822A8")"));
  EXPECT_TRUE(keeps(IndexKind::kUuid, R"("936da01f9abd4d9d80c702af85c822a8")"));
  EXPECT_TRUE(keeps(IndexKind::kUuid, R"("Not One")"));
  EXPECT_EQ(values_.terms.span()[0], values_.terms.span()[1]);
  EXPECT_NE(values_.terms.span()[0], values_.terms.span()[2]);
  EXPECT_EQ(traits_of(IndexKind::kUuid).canonical("Not One"), "Not One");
  EXPECT_EQ(traits_of(IndexKind::kKeyword).canonical, nullptr);
}

TEST_F(Kinds, TextsAreTokensWithAGapBetween) {
  EXPECT_TRUE(keeps(IndexKind::kText, R"("Deep sea")"));
  EXPECT_FALSE(facts_.has(RowFacts::kManyTexts));
  EXPECT_TRUE(keeps(IndexKind::kText, R"("deep")"));
  EXPECT_TRUE(facts_.has(RowFacts::kManyTexts));
  const auto terms = values_.terms.span();
  EXPECT_EQ(std::vector(terms.begin(), terms.end()),
            (std::vector<std::uint32_t>{0, 1, kTermGap, 0}));
}

}  // namespace
}  // namespace quiver::payload
