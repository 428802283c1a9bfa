// Nodes that drain, are removed, or stay away: what they hold comes to be on others, and any node
// may end at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cluster/messages.h"
#include "tests/cluster/placement_rig.h"

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class DrainTest : public PlacementRig {
 protected:
  void TearDown() override {
    network_.set_filter({});
    TestNode::replace_after = milliseconds(0);
    PlacementRig::TearDown();
  }
  /// By the node that leads the cluster, whichever it is.
  template <class Request>
  Result<> ask_leader(Request request) {
    TestNode* leads = leader();
    if (leads == nullptr) return fail(Code::kUnavailable, "nobody leads");
    return request(leads->node());
  }
  Result<> drain(NodeId id) {
    return ask_leader([&](Node& node) { return node.drain(id); });
  }
  Result<> end_drain(NodeId id) {
    return ask_leader([&](Node& node) { return node.end_drain(id); });
  }
  Result<> remove(NodeId id, Removal removal) {
    return ask_leader([&](Node& node) { return node.remove(id, removal); });
  }
  void drain_now(NodeId id) {
    ASSERT_TRUE(comes_true([&] { return drain(id).has_value(); }));
  }
  std::optional<DrainView> drain_of(NodeId id) {
    for (const auto& node : nodes_) {
      if (!node->runs()) continue;
      for (const auto& member : node->node().view().members) {
        if (member.id == id) return member.drain;
      }
      break;
    }
    return std::nullopt;
  }
  bool is_drained(NodeId id) {
    const auto drain = drain_of(id);
    return drain && drain->is_done;
  }
  bool holds(const std::string& name, NodeId id) { return group(name).has(id); }
  TestNode* node_of(NodeId id) {
    for (const auto& node : nodes_) {
      if (node->runs() && id_of(*node) == id) return node.get();
    }
    return nullptr;
  }
  std::uint32_t n_nodes() { return state().set->n_nodes; }
  /// Messages with this verb do not reach the node.
  void lose(std::string_view verb, const TestNode& to) {
    network_.set_filter([verb = std::string(verb), peer = to.peer()](
                            const std::string&, const std::string& receiver,
                            std::string_view sent) { return receiver == peer && sent == verb; });
  }
};

TEST_F(DrainTest, WhatTheNodeHoldsAndLeadsGoesToOthersUnderLoad) {
  TestNode* node = leader();
  const NodeId id = id_of(*node);
  make("one", 1, 1);
  make("two", 2, 1);
  make("three", 1, 1);
  write("one", 0, 10);
  write("two", 0, 10);
  ASSERT_TRUE(node->database().create_collection("everywhere", config(1)));
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> next = 10;
  std::thread writer([&] {
    while (!stop) {
      if (update_anywhere("two", point(next, "a"))) ++next;
    }
  });
  drain_now(id);
  EXPECT_TRUE(comes_true([&] { return is_drained(id); })) << drain_of(id)->trouble;
  stop = true;
  writer.join();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  EXPECT_NE(leader(), node);
  for (const std::string name : {"one", "two", "three"}) {
    EXPECT_FALSE(holds(name, id)) << name;
    EXPECT_TRUE(comes_true([&] { return !node->local().exists(name); }));
  }
  EXPECT_TRUE(drain(id)) << "a second time";
  write("two", next, next + 1);
  EXPECT_EQ(points(holders("two")[0]->database(), "two").size(), next + 1);
  EXPECT_EQ(points(holders("one")[0]->database(), "one").size(), 10U);
  EXPECT_TRUE(node->local().exists("everywhere"));
  for (int i = 0; i < 3; ++i) {
    const std::string name = "later" + std::to_string(i);
    make(name, 1, 1);
    EXPECT_FALSE(holds(name, id));
  }
  const auto too_many = leader()->database().create_collection("many", placed_config(2));
  EXPECT_TRUE(too_many);
  EXPECT_FALSE(holds("many", id));
  ASSERT_TRUE(end_drain(id));
  ASSERT_TRUE(end_drain(id)) << "a second time";
  EXPECT_FALSE(drain_of(id));
  make("after", 1, 1);
  EXPECT_TRUE(holds("after", id)) << "it has the fewest";
}

TEST_F(DrainTest, AMarkSurvivesARestartOfAllNodes) {
  const NodeId id = id_of(*follower());
  drain_now(id);
  for (const auto& node : nodes_) node->end();
  for (const auto& node : nodes_) node->start();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr && is_drained(id); }));
  make("docs", 2, 1);
  EXPECT_FALSE(holds("docs", id));
}

TEST_F(DrainTest, NoSuchNode) {
  for (const auto& answer : {drain(77), end_drain(77), remove(77, Removal::kEmpty)}) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kNotFound);
  }
  const auto asked_elsewhere = follower()->node().drain(id_of(*follower()));
  EXPECT_EQ(asked_elsewhere.error().code(), Code::kUnavailable);
}

/// Where a node ends while a collection with two copies moves away from one.
enum class Moment { kJoining, kLeaving };
enum class Who { kSource, kTarget, kOther };

class DrainCrashTest : public DrainTest,
                       public ::testing::WithParamInterface<std::pair<Moment, Who>> {};

TEST_P(DrainCrashTest, TheDrainGoesOn) {
  const auto [moment, who] = GetParam();
  make("docs", 2, 1);
  write("docs", 0, 20);
  TestNode* source = holders("docs")[0];
  TestNode* other = holders("docs")[1];
  TestNode* target = other_than({source, other});
  const NodeId id = id_of(*source);
  // The move stays at this step.
  lose(moment == Moment::kJoining ? kApplyCommitted : kGetSeen,
       moment == Moment::kJoining ? *target : *source);
  drain_now(id);
  const auto wanted = moment == Moment::kJoining ? MemberState::kJoining : MemberState::kLeaving;
  ASSERT_TRUE(comes_true([&] { return group("docs").set->find(wanted) != 0; }));
  TestNode* victim = who == Who::kSource ? source : who == Who::kTarget ? target : other;
  victim->end();
  network_.set_filter({});
  victim->start();
  ASSERT_TRUE(comes_true([&] { return is_drained(id); }));
  EXPECT_TRUE(comes_true([&] { return are_holders("docs", {other, target}); }));
  write("docs", 20, 30);
  for (TestNode* node : {other, target}) {
    EXPECT_TRUE(comes_true([&] { return points(node->database(), "docs").size() == 30; }));
  }
  EXPECT_TRUE(comes_true([&] { return !source->local().exists("docs"); }));
}

INSTANTIATE_TEST_SUITE_P(AllSteps, DrainCrashTest,
                         ::testing::Values(std::pair(Moment::kJoining, Who::kSource),
                                           std::pair(Moment::kJoining, Who::kTarget),
                                           std::pair(Moment::kJoining, Who::kOther),
                                           std::pair(Moment::kLeaving, Who::kSource),
                                           std::pair(Moment::kLeaving, Who::kTarget),
                                           std::pair(Moment::kLeaving, Who::kOther)));

TEST_F(DrainTest, UndoneInTheMiddleWhatHasBegunIsFinishedAndTheRestStays) {
  for (int i = 0; i < 4; ++i) make("docs" + std::to_string(i), 3 - 1, 1);
  TestNode* node = follower();
  const NodeId id = id_of(*node);
  network_.set_filter([](const std::string&, const std::string&, std::string_view verb) {
    return verb == kGetSeen;  // moves begin and do not end
  });
  int n_held = 0;
  for (int i = 0; i < 4; ++i) n_held += holds("docs" + std::to_string(i), id) ? 1 : 0;
  ASSERT_GT(n_held, 1);
  drain_now(id);
  ASSERT_TRUE(comes_true([&] { return leader()->node().view().n_moving > 0; }));
  ASSERT_TRUE(comes_true([&] { return end_drain(id).has_value(); }));
  network_.set_filter({});
  ASSERT_TRUE(comes_true([&] { return leader()->node().view().n_moving == 0; }));
  int n_left = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "docs" + std::to_string(i);
    n_left += holds(name, id) ? 1 : 0;
    EXPECT_EQ(group(name).set->members.size(), 2U);
    write(name, 0, 3);
  }
  EXPECT_LT(n_left, n_held);
  EXPECT_FALSE(drain_of(id));
}

TEST_F(DrainTest, WithoutAnotherNodeItSaysWhatIsMissingAndGoesOnOnceThatIsThere) {
  make("docs", 2, 1);
  write("docs", 0, 10);
  const auto before = holders("docs");
  TestNode* third = other_than(before);
  const NodeId id = id_of(*before[0]);
  const NodeId third_id = id_of(*third);
  third->end();
  drain_now(id);
  ASSERT_TRUE(comes_true([&] { return !state().alive.contains(third_id); }));
  ASSERT_TRUE(comes_true([&] { return drain_of(id) && !drain_of(id)->trouble.empty(); }));
  EXPECT_THAT(drain_of(id)->trouble,
              HasSubstr("collection `docs` cannot move: node " + std::to_string(id) +
                        " drains, and no other node can take the copy"));
  write("docs", 10, 20);
  EXPECT_TRUE(are_holders("docs", before));
  third->start();
  EXPECT_TRUE(comes_true([&] { return are_holders("docs", {before[1], third}); }));
  EXPECT_EQ(points(third->database(), "docs").size(), 20U);
  EXPECT_TRUE(comes_true([&] { return is_drained(id); }));
}

TEST_F(DrainTest, ASecondNodeThatDiesHoldsUpNeitherTheDrainNorItself) {
  begin_anew(5);
  make("docs", 3, 1);
  write("docs", 0, 10);
  const auto with = holders("docs");
  TestNode* source = with[0];
  TestNode* dies = with[1];
  TestNode* stays = with[2];
  const NodeId id = id_of(*source);
  const NodeId dead_id = id_of(*dies);
  lose(kGetSeen, *source);
  drain_now(id);
  ASSERT_TRUE(comes_true([&] { return group("docs").set->find(MemberState::kLeaving) == id; }));
  dies->end();
  network_.set_filter({});
  ASSERT_TRUE(comes_true([&] { return !holds("docs", id); }));
  drain_now(dead_id);
  ASSERT_TRUE(comes_true([&] { return !holds("docs", dead_id) && holders("docs").size() == 3; }));
  write("docs", 10, 20);
  EXPECT_EQ(points(stays->database(), "docs").size(), 20U);
  EXPECT_EQ(group("docs").set->members.size(), 3U);
}

TEST_F(DrainTest, TwoNodesDrainAndTheLastOneGetsAll) {
  make("a", 1, 1);
  make("b", 1, 1);
  make("c", 1, 1);
  TestNode* stays = follower();
  for (const auto& node : nodes_) {
    if (node.get() != stays) drain_now(id_of(*node));
  }
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_TRUE(comes_true([&] { return are_holders(name, {stays}); }));
    write(name, 0, 3);
  }
  EXPECT_TRUE(comes_true([&] { return stays->leads(); }));
}

TEST_F(DrainTest, ADrainedNodeIsRemovedAndAnotherComesInItsPlace) {
  make("docs", 2, 1);
  write("docs", 0, 5);
  ASSERT_TRUE(leader()->database().create_collection("all", config(1)));
  TestNode* node = holders("docs")[0] == leader() ? holders("docs")[1] : holders("docs")[0];
  const NodeId id = id_of(*node);
  const auto refused = remove(id, Removal::kEmpty);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("it has 1 collections (`docs`): drain it first"));
  const auto leads = remove(id_of(*leader()), Removal::kForced);
  ASSERT_FALSE(leads);
  EXPECT_THAT(leads.error().message(), HasSubstr("it leads the cluster"));
  drain_now(id);
  ASSERT_TRUE(comes_true([&] { return is_drained(id); }));
  ASSERT_TRUE(comes_true([&] { return remove(id, Removal::kEmpty).has_value(); }));
  EXPECT_TRUE(remove(id, Removal::kEmpty)) << "a second time";
  EXPECT_EQ(n_nodes(), 2U);
  EXPECT_FALSE(state().set->members.contains(id));
  EXPECT_TRUE(comes_true([&] { return !node->node().view().refusal.empty(); }));
  node->end();
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(comes_true([&] { return update_anywhere("all", point(i, "a")).has_value(); }));
  }
  node->start();  // with its data
  EXPECT_TRUE(comes_true([&] { return !node->node().view().refusal.empty(); }));
  EXPECT_FALSE(state().set->members.contains(id));
  node->end();
  std::filesystem::remove_all(node->folder());
  node->start();
  ASSERT_TRUE(comes_true([&] { return n_active() == 3; }));
  EXPECT_EQ(n_nodes(), 3U);
  EXPECT_EQ(points(node->database(), "all").size(), 10U);
  EXPECT_TRUE(state().set->members.contains(id_of(*node)));
}

TEST_F(DrainTest, AnotherNodeJoinsOnceAllKnowOfItsPlace) {
  ASSERT_TRUE(leader()->database().create_collection("all", config(1)));
  ASSERT_TRUE(comes_true([&] { return update_anywhere("all", point(1, "a")).has_value(); }));
  nodes_.push_back(std::make_unique<TestNode>(store_, network_, folder_.path(), kNodes));
  for (const auto& node : nodes_) {
    node->end();
    node->n_nodes = kNodes + 1;
    node->start();
  }
  ASSERT_TRUE(comes_true([&] { return n_active() == kNodes + 1; }));
  EXPECT_EQ(n_nodes(), kNodes + 1U);
  EXPECT_EQ(state().set->quorum(), 3U);
  EXPECT_EQ(points(nodes_.back()->database(), "all").size(), 1U);
  make("docs", 3, 1);
  EXPECT_EQ(holders("docs").size(), 3U);
}

TEST_F(DrainTest, ADeadNodeIsForcedOutIfOthersHaveWhatItHas) {
  begin_anew(4);
  make("two", 2, 1);
  write("two", 0, 10);
  TestNode* gone = holders("two")[0] == leader() ? holders("two")[1] : holders("two")[0];
  TestNode* left = holders("two")[0] == gone ? holders("two")[1] : holders("two")[0];
  const NodeId id = id_of(*gone);
  make("alone", 1, 1);
  if (holders("alone")[0] != gone) {
    ASSERT_TRUE(comes_true([&] {
      return change("alone", ReplicaChange::Kind::kMove, id_of(*holders("alone")[0]), id)
          .has_value();
    }));
    ASSERT_TRUE(comes_true([&] { return are_holders("alone", {gone}); }));
  }
  const auto alive = remove(id, Removal::kForced);
  ASSERT_FALSE(alive);
  EXPECT_THAT(alive.error().message(), HasSubstr("drain it first"));
  gone->end();
  ASSERT_TRUE(comes_true([&] { return !state().alive.contains(id); }));
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  const auto unforced = remove(id, Removal::kEmpty);
  ASSERT_FALSE(unforced);
  EXPECT_THAT(unforced.error().message(), HasSubstr("or force it if it will not come back"));
  const auto only = remove(id, Removal::kForced);
  ASSERT_FALSE(only);
  EXPECT_THAT(only.error().message(), HasSubstr("no other node that is alive has a collection"));
  EXPECT_THAT(only.error().message(), HasSubstr("`alone`"));
  ASSERT_TRUE(leader()->database().drop_collection("alone"));
  ASSERT_TRUE(comes_true([&] { return remove(id, Removal::kForced).has_value(); }));
  EXPECT_EQ(n_nodes(), 3U);
  // Its copy is made anew elsewhere.
  ASSERT_TRUE(comes_true([&] {
    return !holds("two", id) && group("two").set->members.size() == 2 &&
           group("two").set->find(MemberState::kJoining) == 0;
  }));
  write("two", 10, 20);
  EXPECT_EQ(points(left->database(), "two").size(), 20U);
}

TEST_F(DrainTest, ANodeIsNotRemovedIfTooFewWouldHaveTheChanges) {
  ASSERT_TRUE(leader()->database().create_collection("all", config(1)));
  TestNode* gone = follower();
  gone->end();
  TestNode* second = follower();
  const NodeId id = id_of(*second);
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  const auto refused = remove(id, Removal::kForced);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("of the nodes that stay have all changes"));
  EXPECT_EQ(n_nodes(), 3U);
}

class ReplacementTest : public DrainTest {
 protected:
  void SetUp() override {
    TestNode::replace_after = seconds(2);
    DrainTest::SetUp();
  }
};

TEST_F(ReplacementTest, ACopyOnANodeThatStaysAwayIsMadeElsewhereOnce) {
  make("docs", 2, 1);
  write("docs", 0, 10);
  TestNode* gone = holders("docs")[0];
  TestNode* left = holders("docs")[1];
  TestNode* third = other_than({gone, left});
  const NodeId id = id_of(*gone);
  gone->end();
  ASSERT_TRUE(comes_true([&] { return are_holders("docs", {left, third}); }));
  write("docs", 10, 20);
  EXPECT_FALSE(holds("docs", id));
  EXPECT_EQ(points(third->database(), "docs").size(), 20U);
  gone->start();
  EXPECT_TRUE(comes_true([&] { return !gone->local().exists("docs"); }));
  EXPECT_TRUE(are_holders("docs", {left, third}));
}

TEST_F(ReplacementTest, TooFewNodesAreToldAndNothingHappens) {
  make("docs", 2, 1);
  write("docs", 0, 10);
  const auto before = holders("docs");
  TestNode* third = other_than(before);
  TestNode* left = before[0];
  const NodeId third_id = id_of(*third);
  drain_now(third_id);
  before[1]->end();
  ASSERT_TRUE(comes_true([&] {
    const auto placement = left->node().placement("docs");
    return placement && !placement->trouble.empty();
  }));
  EXPECT_THAT(left->node().placement("docs")->trouble,
              HasSubstr("is away, and no other node can take the copy"));
  EXPECT_EQ(left->node().view().n_under_replicated, 1U);
  before[1]->start();
  EXPECT_TRUE(comes_true([&] { return left->node().placement("docs")->trouble.empty(); }));
  write("docs", 10, 20);
  EXPECT_TRUE(are_holders("docs", before));
}

TEST_F(ReplacementTest, ANodeThatComesBackWhileItsCopyIsMadeGivesItUp) {
  make("docs", 2, 1);
  write("docs", 0, 10);
  TestNode* gone = holders("docs")[0];
  TestNode* left = holders("docs")[1];
  TestNode* third = other_than({gone, left});
  lose(kApplyCommitted, *third);
  gone->end();
  ASSERT_TRUE(comes_true([&] { return group("docs").set->find(MemberState::kJoining) != 0; }));
  EXPECT_EQ(group("docs").set->members.size(), 3U);
  gone->start();
  ASSERT_TRUE(comes_true([&] { return holders("docs").size() == 2; }));
  write("docs", 10, 20);
  network_.set_filter({});
  ASSERT_TRUE(comes_true([&] { return are_holders("docs", {left, third}); }));
  write("docs", 20, 30);
  for (TestNode* node : {left, third}) {
    EXPECT_TRUE(comes_true([&] { return points(node->database(), "docs").size() == 30; }));
  }
  EXPECT_TRUE(comes_true([&] { return !gone->local().exists("docs"); }));
}

}  // namespace
}  // namespace quiver::cluster
