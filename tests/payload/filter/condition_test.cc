#include "payload/filter/condition.h"

#include <gtest/gtest.h>

namespace quiver::payload {
namespace {

FieldIndex index_of(IndexKind kind) {
  FieldIndex index;
  index.key = "k";
  index.kind = kind;
  return index;
}

bool holds_for(const ValueCondition& condition, std::string_view document,
               const FieldIndex* index = nullptr) {
  const auto prepared = prepare(condition, index);
  EXPECT_TRUE(prepared);
  return passes(*prepared, *JsonPath::parse("k"), *parse_json(document));
}

TEST(Condition, ListsAreSortedAndDistinct) {
  const MatchAny any{{std::string("b"), std::string("a"), std::string("b")}};
  const auto prepared = std::get<MembershipCondition>(*prepare(any, nullptr));
  EXPECT_EQ(prepared.strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(prepared.type, ScalarType::kString);
}

TEST(Condition, UuidsAreComparedInCanonicalFormUnderTheirIndex) {
  const FieldIndex index = index_of(IndexKind::kUuid);
  const MatchValue value{std::string("5C56C79369F34FBF87E6C4BF54C28C26")};
  constexpr std::string_view kDocument = R"({"k":"5c56c793-69f3-4fbf-87e6-c4bf54c28c26"})";
  EXPECT_TRUE(holds_for(value, kDocument, &index));
  EXPECT_FALSE(holds_for(value, kDocument));
}

TEST(Condition, TextIsTokensOrSubstrings) {
  const FieldIndex index = index_of(IndexKind::kText);
  EXPECT_TRUE(holds_for(MatchText{"SEA deep"}, R"({"k":"Deep blue sea"})", &index));
  EXPECT_FALSE(holds_for(MatchText{"SEA deep"}, R"({"k":"Deep blue sea"})"));
  EXPECT_TRUE(holds_for(MatchText{"eep bl"}, R"({"k":"Deep blue sea"})"));
  EXPECT_FALSE(holds_for(MatchPhrase{"deep sea"}, R"({"k":"Deep blue sea"})", &index));
}

TEST(Condition, GeoShapesHaveABoundOnLatitudes) {
  const GeoRadius circle{{13.4, 52.5}, 10'000};
  const auto prepared = std::get<GeoCondition>(*prepare(circle, nullptr));
  EXPECT_TRUE(prepared.accepts({13.4, 52.55}));
  EXPECT_FALSE(prepared.accepts({13.4, 52.7}));
  EXPECT_GT(prepared.latitudes.low, 52.3);
  EXPECT_LT(prepared.latitudes.high, 52.7);
}

TEST(Condition, RefusesMixedListsAndPointsOffTheGlobe) {
  EXPECT_FALSE(prepare(MatchAny{{std::string("a"), std::int64_t{1}}}, nullptr));
  EXPECT_FALSE(prepare(GeoRadius{{181, 0}, 1}, nullptr));
  EXPECT_FALSE(prepare(GeoPolygon{{{0, 0}, {1, 0}, {1, 1}, {2, 2}}, {}}, nullptr));
}

TEST(Condition, OnlyCountsAndEmptinessAreNotExistential) {
  EXPECT_TRUE(is_existential(*prepare(MatchValue{true}, nullptr)));
  EXPECT_TRUE(is_existential(*prepare(MatchPrefix{"a"}, nullptr)));
  EXPECT_FALSE(is_existential(*prepare(ValuesCount{}, nullptr)));
  EXPECT_FALSE(is_existential(*prepare(IsEmpty{}, nullptr)));
  EXPECT_FALSE(is_existential(*prepare(IsNull{}, nullptr)));
}

}  // namespace
}  // namespace quiver::payload
