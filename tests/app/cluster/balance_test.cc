#include "app/cluster/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace quiver::app {
namespace {

using Moves = std::vector<BalancingMove>;

TEST(ClusterBalance, ReadsWhatTheClusterSays) {
  const auto layout = parse_layout(
      R"({"result":{"nodes":[{"peer_id":7,"alive":true,"active":true},
          {"peer_id":8,"alive":true,"active":true,"draining":{}},
          {"peer_id":9,"alive":false,"active":true},{"peer_id":10,"alive":true,"active":false}],
          "placements":[{"collection":"a","replicas":[{"peer_id":7,"state":"active"}]},
          {"collection":"b","replicas":[{"peer_id":8,"state":"active"},{"peer_id":7,"state":"joining"}]}]}})");
  ASSERT_TRUE(layout) << layout.error().message();
  EXPECT_EQ(layout->nodes, std::vector<std::uint64_t>{7});
  ASSERT_EQ(layout->collections.size(), 2U);
  EXPECT_EQ(layout->collections[1].nodes, (std::vector<std::uint64_t>{8, 7}));
  EXPECT_FALSE(layout->collections[0].is_moving);
  EXPECT_TRUE(layout->collections[1].is_moving);
  EXPECT_FALSE(parse_layout(R"({"result":{"status":"disabled"}})"));
}

TEST(ClusterBalance, ANewNodeGetsItsShare) {
  const ClusterLayout layout{{1, 2, 3},
                             {{"a", {1}, false, 40}, {"b", {1}, false, 30}, {"c", {2}, false, 50}}};
  EXPECT_EQ(plan_moves(layout), (Moves{{"b", 1, 3, 30}}));
}

TEST(ClusterBalance, WhatIsEvenStays) {
  EXPECT_EQ(plan_moves({{1, 2}, {{"a", {1}, false, 50}, {"b", {2}, false, 49}}}), Moves());
  EXPECT_EQ(plan_moves({{1, 2}, {{"a", {1}, false, 50}}}), Moves()) << "the other would be as full";
  EXPECT_EQ(plan_moves({{1, 2}, {{"a", {1}, true, 9}, {"b", {1}, true, 9}}}), Moves()) << "moving";
  EXPECT_EQ(plan_moves({{1, 2}, {{"a", {1}, false, 0}, {"b", {1}, false, 0}}}), Moves());
  EXPECT_EQ(plan_moves({{}, {{"a", {1}, false, 50}}}), Moves());
}

TEST(ClusterBalance, CopiesStayOnDifferentNodesAndThePeakFalls) {
  constexpr std::uint64_t kSeed = 36;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    ClusterLayout layout;
    for (std::uint64_t node = 1; node <= 3 + random() % 4; ++node) layout.nodes.push_back(node);
    for (int i = 0; i < 12; ++i) {
      auto nodes = layout.nodes;
      nodes.push_back(99);  // one that cannot take anything
      std::ranges::shuffle(nodes, random);
      nodes.resize(1 + random() % 2);
      layout.collections.push_back(
          {"c" + std::to_string(i), nodes, random() % 8 == 0, random() % 1000});
    }
    const auto peak = [&] {
      std::map<std::uint64_t, std::uint64_t> loads;
      for (const auto& collection : layout.collections) {
        for (const auto node : collection.nodes) loads[node] += collection.n_bytes;
      }
      loads.erase(99);
      std::uint64_t most = 0;
      for (const auto& [node, n_bytes] : loads) most = std::max(most, n_bytes);
      return most;
    };
    const auto before = peak();
    for (const auto& move : plan_moves(layout)) {
      auto& collection =
          *std::ranges::find(layout.collections, move.collection, &PlacedCollection::name);
      EXPECT_FALSE(collection.is_moving);
      auto& nodes = collection.nodes;
      ASSERT_EQ(std::ranges::count(nodes, move.from), 1);
      ASSERT_EQ(std::ranges::count(nodes, move.to), 0);
      ASSERT_EQ(std::ranges::count(layout.nodes, move.to), 1);
      std::ranges::replace(nodes, move.from, move.to);
      collection.is_moving = true;
    }
    EXPECT_LE(peak(), before);
  }
}

}  // namespace
}  // namespace quiver::app
