// Maps: the plane of a sample, and the layout of a graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/query/joins/map_layout.h"
#include "engine/query/joins/projection.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint32_t kGroups = 3;
constexpr std::uint32_t kRowsPerGroup = 40;

/// Neighbours are rows of the same group.
KnnGraph graph_of_groups() {
  KnnGraph graph(kGroups * kRowsPerGroup, 4);
  for (std::uint32_t row = 0; row < graph.n_rows(); ++row) {
    std::vector<Neighbour> others;
    for (std::uint32_t i = 1; i <= 4; ++i) {
      others.push_back({row % kGroups + kGroups * ((row / kGroups + 7 * i) % kRowsPerGroup), 1});
    }
    graph.set(row, others);
  }
  return graph;
}

std::vector<float> random_places(std::size_t n_rows) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> places(2 * n_rows);
  for (float& value : places) value = normal(random);
  return places;
}

std::vector<float> laid_out(std::uint64_t seed) {
  const auto graph = graph_of_groups();
  return lay_out(graph, random_places(graph.n_rows()), seed, Cancel()).value();
}

double distance(const std::vector<float>& places, std::size_t a, std::size_t b) {
  return std::hypot(places[2 * a] - places[2 * b], places[2 * a + 1] - places[2 * b + 1]);
}

TEST(MapLayout, PutsGroupsApart) {
  const auto places = laid_out(1);
  for (const float value : places) EXPECT_TRUE(std::isfinite(value));
  const std::size_t n = places.size() / 2;
  double within = 0;
  double between = 0;
  for (std::size_t row = kGroups; row < n; ++row) {
    within += distance(places, row, row % kGroups) / static_cast<double>(n);
    between += distance(places, row, (row + 1) % kGroups) / static_cast<double>(n);
  }
  EXPECT_GT(between, 2 * within);
}

TEST(MapLayout, DependsOnTheSeedAlone) {
  EXPECT_EQ(laid_out(1), laid_out(1));
  EXPECT_NE(laid_out(1), laid_out(2));
}

TEST(MapLayout, SpreadsRowsThatBeginInOnePlace) {
  const auto graph = graph_of_groups();
  const std::vector<float> start(2 * graph.n_rows(), 0);
  const auto places = lay_out(graph, start, 1, Cancel()).value();
  EXPECT_GT(distance(places, 0, 1), 0.1);
}

TEST(MapLayout, Stops) {
  Cancel cancel;
  cancel.cancel();
  const auto graph = graph_of_groups();
  EXPECT_EQ(lay_out(graph, random_places(graph.n_rows()), 1, cancel).error().code(),
            Code::kCancelled);
}

ProjectionRequest projection_of(const std::string& field, std::uint64_t sample,
                                std::uint64_t seed = 0) {
  ProjectionRequest request;
  request.using_field = field;
  request.sample = sample;
  request.seed = seed;
  return request;
}

/// The field holds the point's number in one dimension: the plane is that line, about its mean.
TEST(MapPlane, IsTheLineOfNumbers) {
  const NumbersWorld world;
  const auto projection = project_sample(world.environment(), projection_of("far", 100)).value();
  ASSERT_EQ(projection.ids.size(), 8U) << "9 has no vectors";
  EXPECT_TRUE(std::is_sorted(projection.ids.begin(), projection.ids.end()));
  EXPECT_NEAR(projection.shares.value()[0], 1, 1e-5);
  for (std::size_t i = 0; i < projection.ids.size(); ++i) {
    const auto number = static_cast<float>(projection.ids[i].low());
    EXPECT_NEAR(projection.places[2 * i], number - 4.5F, 1e-4);
    EXPECT_EQ(projection.places[2 * i + 1], 0);
  }
}

TEST(MapPlane, IsOfASampleThatTheSeedChooses) {
  const NumbersWorld world;
  const auto ids_of = [&](std::uint64_t seed) {
    return project_sample(world.environment(), projection_of("far", 3, seed)).value().ids;
  };
  EXPECT_EQ(ids_of(0).size(), 3U);
  EXPECT_EQ(ids_of(0), ids_of(0));
  bool differs = false;
  for (std::uint64_t seed = 1; seed < 10; ++seed) differs = differs || ids_of(seed) != ids_of(0);
  EXPECT_TRUE(differs);

  ProjectionRequest odd = projection_of("far", 100);
  odd.filter = only_odd();
  EXPECT_EQ(project_sample(world.environment(), odd).value().ids.size(), 4U);
}

TEST(MapLayout, IsOfASampleOfAnyKindOfField) {
  const NumbersWorld world;
  for (const char* field : {"dot", "tokens"}) {
    for (const std::uint64_t sample : {1, 3, 100}) {
      ProjectionRequest request = projection_of(field, sample);
      request.layout = ProjectionLayout::kNeighbours;
      request.k = 2;
      const auto projection = project_sample(world.environment(), request).value();
      ASSERT_EQ(projection.ids.size(), std::min<std::size_t>(sample, 8)) << field;
      EXPECT_EQ(projection.places.size(), 2 * projection.ids.size());
      EXPECT_FALSE(projection.shares.has_value());
      for (const float value : projection.places) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST(MapPlane, RefusesOtherFieldsAndStops) {
  const NumbersWorld world;
  const auto code_of = [&](const char* field) {
    return project_sample(world.environment(), projection_of(field, 10)).error().code();
  };
  EXPECT_EQ(code_of("no"), Code::kInvalidArgument);
  EXPECT_EQ(code_of("tokens"), Code::kInvalidArgument) << "not dense";
  EXPECT_EQ(code_of("words"), Code::kUnimplemented) << "with IDF";
  world.cancel.cancel();
  EXPECT_EQ(project_sample(world.environment(), projection_of("far", 10)).error().code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
