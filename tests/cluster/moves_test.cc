// Which copies of placed collections move by themselves, as plain functions of the state.
#include "cluster/moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Nodes 1 to `n`, all alive.
ClusterState nodes(std::uint32_t n) {
  ClusterState state;
  state.set = MemberSet{"id", n, {}};
  for (NodeId node = 1; node <= n; ++node) {
    const std::string name = "node" + std::to_string(node);
    state.set->members[node] = {{name, "http://" + name}, MemberState::kActive, 0};
    state.alive[node] = state.set->members[node].address;
    state.can_place.insert(node);
  }
  state.leader = 1;
  return state;
}

/// A collection of one shard; the first of its nodes leads it.
void place(ClusterState& state, const std::string& name, const std::vector<NodeId>& on) {
  engine::CollectionConfig config;
  config.cluster_id = "id-" + name;
  state.collections[name] = {config, 1};
  GroupState& group = state.placed[config.cluster_id];
  group.set = MemberSet{"id", static_cast<std::uint32_t>(on.size()), {}};
  for (const NodeId node : on) {
    group.set->members[node] = {state.set->members[node].address, MemberState::kActive, 0};
  }
  group.leader = on.front();
}

MemberSet& set_of(ClusterState& state, const std::string& name) {
  return *state.placed.at("id-" + name).set;
}

std::optional<std::pair<NodeId, NodeId>> planned(const ClusterState& state, const std::string& name,
                                                 const std::set<NodeId>& departing) {
  const auto move = planned_move(state, "id-" + name, departing);
  if (!move) return std::nullopt;
  return std::pair(move->from, move->to);
}

TEST(Moves, ADrainingNodeGivesItsCopyToTheOneWithTheFewestShards) {
  auto state = nodes(4);
  place(state, "a", {1, 2});
  place(state, "b", {3});
  state.draining = {1};
  const auto departing = departing_nodes(state, {}, seconds(10));
  EXPECT_THAT(departing, ElementsAre(1));
  EXPECT_EQ(planned(state, "a", departing), std::pair(NodeId{1}, NodeId{4}));
  EXPECT_EQ(planned(state, "b", departing), std::nullopt);
}

TEST(Moves, NeverToANodeThatDrainsIsDownOrDoesNotCount) {
  auto state = nodes(6);
  place(state, "a", {1});
  state.draining = {1, 2};
  state.alive.erase(3);
  state.set->members[4].state = MemberState::kJoining;
  state.can_place.erase(5);
  EXPECT_EQ(planned(state, "a", state.draining), std::pair(NodeId{1}, NodeId{6}));
  state.alive.erase(6);
  EXPECT_EQ(planned(state, "a", state.draining), std::nullopt);
  EXPECT_THAT(move_trouble(state, state.placed.at("id-a"), state.draining),
              HasSubstr("node 1 drains, and no other node can take the copy"));
}

TEST(Moves, AFewAtATimeInOneOrderForAllLeaders) {
  auto state = nodes(5);
  for (const std::string name : {"a", "b", "c", "d"}) place(state, name, {1});
  state.draining = {1};
  EXPECT_EQ(planned(state, "a", {1}), std::pair(NodeId{1}, NodeId{2}));
  EXPECT_EQ(planned(state, "b", {1}), std::pair(NodeId{1}, NodeId{3})) << "what a will do counts";
  EXPECT_FALSE(planned(state, "c", {1}));
  set_of(state, "a").members[2] = {{}, MemberState::kJoining, 1};
  EXPECT_FALSE(planned(state, "a", {1})) << "one change of a collection at a time";
  EXPECT_TRUE(planned(state, "b", {1}));
  EXPECT_FALSE(planned(state, "c", {1}));
  set_of(state, "a").members = {{2, {{}, MemberState::kActive, 0}}};
  EXPECT_TRUE(planned(state, "c", {1}));
  EXPECT_FALSE(planned(state, "d", {1}));
}

TEST(Moves, WhatWaitsForANodeThatIsDownHoldsUpNoOther) {
  auto state = nodes(5);
  for (const std::string name : {"a", "b", "c", "d"}) place(state, name, {1});
  state.alive.erase(5);
  set_of(state, "a").members[5] = {{}, MemberState::kJoining, 1};
  set_of(state, "b").members[5] = {{}, MemberState::kJoining, 1};
  EXPECT_TRUE(planned(state, "c", {1}));
  EXPECT_TRUE(planned(state, "d", {1}));
  EXPECT_EQ(move_trouble(state, state.placed.at("id-a"), {1}),
            "node 5, which is to get a copy, is down");
  state.placed.at("id-c").leader = 0;
  EXPECT_FALSE(planned(state, "c", {1}));
  EXPECT_THAT(move_trouble(state, state.placed.at("id-c"), {1}), HasSubstr("no node leads it"));
}

TEST(Moves, ANodeThatIsGoneIsReplacedBeforeOneThatDrains) {
  auto state = nodes(5);
  place(state, "a", {2, 1, 3});
  state.alive.erase(3);
  EXPECT_EQ(planned(state, "a", {1, 3}), std::pair(NodeId{3}, NodeId{4}));
}

TEST(Moves, ANodeIsReplacedOnceItWasAwayForTheTimeWhileMostAreThere) {
  auto state = nodes(5);
  place(state, "a", {1, 5});
  state.alive.erase(5);
  const auto departing = [&](seconds away, seconds replace_after) {
    return departing_nodes(state, {{5, away}}, replace_after);
  };
  EXPECT_THAT(departing(seconds(9), seconds(10)), IsEmpty());
  EXPECT_THAT(departing(seconds(10), seconds(10)), ElementsAre(5));
  EXPECT_THAT(departing(seconds(1000), seconds(0)), IsEmpty()) << "0: never";
  EXPECT_TRUE(is_under_replicated(state, state.placed.at("id-a")));
  state.alive.erase(4);
  EXPECT_THAT(departing(seconds(10), seconds(10)), ElementsAre(5));
  state.alive.erase(3);
  EXPECT_THAT(departing(seconds(10), seconds(10)), IsEmpty());
  state.alive[5] = {};
  EXPECT_THAT(departing(seconds(10), seconds(10)), IsEmpty()) << "it is back";
}

TEST(Moves, ARemovedNodeDepartsAtOnce) {
  auto state = nodes(3);
  place(state, "a", {1, 3});
  state.set->members.erase(3);
  EXPECT_THAT(departing_nodes(state, {}, seconds(0)), ElementsAre(3));
}

TEST(Moves, ACopyOnItsWayIsGivenUpIfItsNodeDrainsIsRemovedOrStaysAway) {
  auto state = nodes(4);
  place(state, "a", {1});
  MemberSet& set = set_of(state, "a");
  const auto is_given_up = [&](const std::set<NodeId>& departing, seconds away) {
    return is_hopeless(state, set, departing, {{4, away}}, seconds(600));
  };
  EXPECT_FALSE(is_given_up({}, seconds(0)));
  set.members[4] = {{}, MemberState::kJoining, 1};
  EXPECT_FALSE(is_given_up({1}, seconds(700))) << "it is alive";
  state.alive.erase(4);
  EXPECT_FALSE(is_given_up({1}, seconds(10)));
  EXPECT_TRUE(is_given_up({1}, seconds(15)));
  EXPECT_FALSE(is_given_up({}, seconds(15))) << "asked for by hand";
  EXPECT_TRUE(is_given_up({}, seconds(600)));
  state.alive[4] = {};
  state.draining = {4};
  EXPECT_TRUE(is_given_up({}, seconds(0)));
  state.draining = {};
  state.set->members.erase(4);
  EXPECT_TRUE(is_given_up({}, seconds(0)));
}

TEST(Moves, ADrainIsDoneOnceTheNodeHasAndLeadsNothingAndIsNotMissed) {
  auto state = nodes(3);
  place(state, "a", {1, 2});
  state.draining = {1};
  auto view = drain_view(state, 1, {1});
  EXPECT_EQ(view.n_collections, 1U);
  EXPECT_EQ(view.trouble, "");
  EXPECT_FALSE(view.is_done);
  place(state, "a", {2, 3});
  EXPECT_FALSE(drain_view(state, 1, {1}).is_done) << "it leads";
  state.leader = 2;
  EXPECT_TRUE(drain_view(state, 1, {1}).is_done);
  state.alive.erase(3);
  view = drain_view(state, 1, {1});
  EXPECT_FALSE(view.is_done);
  EXPECT_EQ(view.trouble, "without it 1 of 3 nodes would be alive, and 2 must store a change");
}

TEST(Moves, ADrainNamesWhatCannotMove) {
  auto state = nodes(3);
  place(state, "a", {1, 2});
  place(state, "b", {1, 3});
  state.draining = {1};
  state.alive.erase(3);
  state.placed.at("id-b").leader = 0;
  const auto view = drain_view(state, 1, {1});
  EXPECT_THAT(view.trouble, HasSubstr("2 collections, among them `a` cannot move: node 1 drains"));
}

}  // namespace
}  // namespace quiver::cluster
