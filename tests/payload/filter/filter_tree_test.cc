#include "payload/filter/filter_tree.h"

#include <gtest/gtest.h>

#include "payload/filter/predicate.h"

namespace quiver::payload {
namespace {

FieldIndex index_of(std::string key, IndexKind kind) {
  FieldIndex index;
  index.key = std::move(key);
  index.kind = kind;
  return index;
}

TEST(FilterTree, ConditionsGetTheIndexOfTheirPath) {
  const std::vector<FieldIndex> indexes = {index_of("a.b", IndexKind::kInteger),
                                           index_of("not a path[", IndexKind::kKeyword)};
  Filter filter;
  filter.must.push_back(FieldCondition{"\"a\".b", MatchValue{std::int64_t{1}}});
  filter.must.push_back(FieldCondition{"c", MatchValue{std::int64_t{1}}});
  const auto tree = *build_tree(filter, indexes);
  const auto& indexed = std::get<FieldNode>(tree->must[0]);
  ASSERT_TRUE(indexed.index);
  EXPECT_EQ(indexed.index->kind, IndexKind::kInteger);
  EXPECT_EQ(std::get<FieldNode>(tree->must[1]).index, std::nullopt);
}

TEST(FilterTree, IdsAreSortedAndDistinct) {
  Filter filter;
  filter.should.push_back(HasId{{PointId::number(3), PointId::number(1), PointId::number(3)}});
  const auto tree = *build_tree(filter, {});
  EXPECT_EQ(std::get<HasIdNode>(tree->should[0]).ids,
            (std::vector{PointId::number(1), PointId::number(3)}));
}

TEST(FilterTree, NestedFiltersHaveNecessaryConditionsOnTheDocument) {
  const std::vector<FieldIndex> indexes = {index_of("r[].a", IndexKind::kInteger)};
  Filter inner;
  inner.must.push_back(FieldCondition{"a", MatchValue{std::int64_t{1}}});
  inner.must.push_back(FieldCondition{"a", IsNull{}});
  inner.must.push_back(FieldCondition{"b", MatchValue{std::int64_t{1}}});
  Filter filter;
  filter.must.push_back(Nested{"r", std::make_shared<const Filter>(inner)});
  const auto tree = *build_tree(filter, indexes);
  const auto& nested = std::get<NestedNode>(tree->must[0]);
  EXPECT_EQ(nested.elements.to_string(), "r[]");
  ASSERT_EQ(nested.necessary.size(), 2U) << "existential conditions only";
  EXPECT_EQ(nested.necessary[0].attribute_path, "r[].a");
  EXPECT_EQ(nested.necessary[1].attribute_path, "r[].b");
}

TEST(FilterTree, RefusesMalformedPathsAndDeepNesting) {
  Filter malformed;
  malformed.must.push_back(FieldCondition{"a..b", IsNull{}});
  EXPECT_EQ(build_tree(malformed, {}).error().code(), Code::kInvalidArgument);
  Filter deep;
  for (int i = 0; i <= kMaxFilterDepth; ++i) {
    Filter outer;
    outer.must.emplace_back(std::make_shared<const Filter>(deep));
    deep = outer;
  }
  EXPECT_EQ(build_tree(deep, {}).error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quiver::payload
