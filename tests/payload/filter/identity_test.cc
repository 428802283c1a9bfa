#include "payload/filter/identity.h"

#include <gtest/gtest.h>

#include <map>

#include "base/bitset.h"
#include "payload/filter/predicate.h"
#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

constexpr std::uint64_t kSeed = 4;

std::vector<bool> matches_of(const Filter& filter, const std::vector<Value>& documents) {
  const auto predicate = compile(filter, {});
  EXPECT_TRUE(predicate);
  const HasVectorFn has_vector = [](std::string_view) { return true; };
  std::vector<bool> matches;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    matches.push_back((*predicate)->matches(documents[i], PointId::number(i), has_vector));
  }
  return matches;
}

/// Equal identities, equal meaning; the filters come from so few values that many are equal.
TEST(FilterIdentity, EqualOnesMatchTheSame) {
  RandomPayload random(kSeed);
  std::vector<Value> documents;
  for (int i = 0; i < 40; ++i) documents.push_back(random.document());
  std::map<std::string, std::vector<bool>> known;
  int n_again = 0;
  for (int i = 0; i < 6000; ++i) {
    const Filter filter = random.filter(1);
    const auto identity = identity_of(filter, {});
    ASSERT_TRUE(identity);
    const auto matches = matches_of(filter, documents);
    const auto [place, is_new] = known.emplace(identity->text, matches);
    n_again += is_new ? 0 : 1;
    ASSERT_EQ(place->second, matches) << "seed " << kSeed << " filter " << i;
  }
  EXPECT_GT(n_again, 20) << "few filters were asked twice";
}

Filter one(ValueCondition condition, std::string key = "a") {
  Filter filter;
  filter.must = {FieldCondition{std::move(key), std::move(condition)}};
  return filter;
}

TEST(FilterIdentity, DiffersWhereMeaningsDo) {
  Filter should, must_not, some;
  should.should = one(MatchValue{std::int64_t{1}}).must;
  must_not.must_not = should.should;
  some.min_should = MinShould{should.should, 1};
  Range above, at_least;
  above.gt = std::int64_t{1};
  at_least.gte = std::int64_t{1};
  Filter nested, group;
  nested.must = {Nested{"a", std::make_shared<Filter>(should)}};
  group.must = {std::make_shared<const Filter>(should)};
  const std::vector<Filter> filters = {{},
                                       should,
                                       must_not,
                                       some,
                                       nested,
                                       group,
                                       one(MatchValue{std::int64_t{1}}),
                                       one(MatchValue{true}),
                                       one(MatchValue{std::string("1")}),
                                       one(MatchValue{std::string("1")}, "b"),
                                       one(MatchText{"1"}),
                                       one(MatchTextAny{"1"}),
                                       one(MatchPhrase{"1"}),
                                       one(MatchText{"1", {1, false}}),
                                       one(MatchText{"1", {0, true}}),
                                       one(MatchPhrase{"1", {1, false}}),
                                       one(MatchPrefix{"1"}),
                                       one(MatchAny{{std::int64_t{1}}}),
                                       one(MatchExcept{{std::int64_t{1}}}),
                                       one(above),
                                       one(at_least),
                                       one(IsEmpty{}),
                                       one(IsEmpty{false}),
                                       one(IsNull{}),
                                       one(IsNull{true, false}),
                                       one(MatchText{"12"}, ""),
                                       one(MatchText{"2"}, "1")};
  for (std::size_t i = 0; i < filters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(identity_of(filters[i], {}), identity_of(filters[j], {})) << i << " " << j;
    }
    EXPECT_EQ(identity_of(filters[i], {}), identity_of(filters[i], {}));
  }
}

/// Under an index of text or UUIDs conditions compare otherwise.
TEST(FilterIdentity, KnowsTheIndexesThatChangeMeanings) {
  const Filter filter = one(MatchText{"whale"});
  FieldIndex text, keyword;
  text.key = keyword.key = "a";
  text.kind = IndexKind::kText;
  FieldIndex folded = text;
  folded.text.ascii_folding = true;
  EXPECT_NE(identity_of(filter, {}), identity_of(filter, {{text}}));
  EXPECT_NE(identity_of(filter, {{text}}), identity_of(filter, {{folded}}));
  EXPECT_EQ(identity_of(filter, {}), identity_of(filter, {{keyword}}));
}

TEST(FilterIdentity, LongFiltersHaveNone) {
  Filter filter;
  HasId ids;
  for (std::uint64_t i = 0; i < 10'000; ++i) ids.ids.push_back(PointId::number(i));
  filter.must = {ids};
  EXPECT_EQ(identity_of(filter, {}), std::nullopt);
  EXPECT_EQ(identity_of(one(MatchText{std::string(100'000, 'x')}), {}), std::nullopt);
}

}  // namespace
}  // namespace quiver::payload
