// Distances among a sample agree with searching exactly for each point.
#include "engine/query/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

MatrixRequest request_of(const std::string& field, std::uint64_t sample, std::uint64_t limit) {
  MatrixRequest request;
  request.using_field = field;
  request.sample = sample;
  request.limit = limit;
  return request;
}

/// The nearest of `ids` to one of them, by a query that names it.
std::vector<Record> searched(const NumbersWorld& world, const std::string& field, const PointId& id,
                             const std::vector<PointId>& ids, std::uint64_t limit) {
  payload::Filter filter;
  filter.must = {payload::HasId{ids}};
  Query query;
  query.kind = Nearest{id};
  query.using_field = field;
  query.filter = filter;
  query.limit = limit;
  return Plan(query).run(world.environment()).value();
}

TEST(Matrix, HasTheNearestOfTheSample) {
  const NumbersWorld world;
  for (const char* field : {"dot", "far", "words", "tokens"}) {
    for (const std::uint64_t sample : {2, 5, 8, 100}) {
      SCOPED_TRACE(std::string(field) + " " + std::to_string(sample));
      const auto matrix = compare_sample(world.environment(), request_of(field, sample, 3)).value();
      ASSERT_EQ(matrix.ids.size(), std::min<std::uint64_t>(sample, 8)) << "9 has no vectors";
      EXPECT_TRUE(std::is_sorted(matrix.ids.begin(), matrix.ids.end()));
      ASSERT_EQ(matrix.rows.size(), matrix.ids.size());
      for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
        const auto expected = searched(world, field, matrix.ids[row], matrix.ids, 3);
        ASSERT_EQ(matrix.rows[row].size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(matrix.ids[matrix.rows[row][i].column], expected[i].id);
          EXPECT_EQ(matrix.rows[row][i].score, expected[i].score);
        }
      }
    }
  }
}

TEST(Matrix, IsAmongPointsThatMatch) {
  const NumbersWorld world;
  MatrixRequest request = request_of("dot", 100, 100);
  request.filter = only_odd();
  const auto matrix = compare_sample(world.environment(), request).value();
  ASSERT_EQ(matrix.ids.size(), 4U);
  for (const auto& id : matrix.ids) EXPECT_EQ(id.low() % 2, 1U);
  for (const auto& row : matrix.rows) EXPECT_EQ(row.size(), 3U) << "never the point itself";
}

TEST(Matrix, IsEmptyForFewerThanTwoPoints) {
  const NumbersWorld world;
  MatrixRequest request = request_of("dot", 10, 3);
  payload::Filter filter;
  filter.must = {payload::HasId{{PointId::number(4), PointId::number(9)}}};
  request.filter = filter;
  EXPECT_TRUE(compare_sample(world.environment(), request).value().ids.empty());
}

TEST(Matrix, RefusesUnknownFieldsAndStops) {
  const NumbersWorld world;
  const auto refused = compare_sample(world.environment(), request_of("no", 10, 3));
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  world.cancel.cancel();
  EXPECT_EQ(compare_sample(world.environment(), request_of("dot", 10, 3)).error().code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
