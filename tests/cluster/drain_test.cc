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
#include "cluster/moves.h"
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
  Result<> ask_leader_once(Request request) {
    TestNode* leads = leader();
    if (leads == nullptr) return fail(Code::kUnavailable, "nobody leads");
    return request(leads->node());
  }
  template <class Request>
  Result<> ask_leader(Request request) {
    Result<> answer;
    (void)comes_true([&] {
      answer = ask_leader_once(request);
      return answer || answer.error().code() != Code::kUnavailable;
    });
    return answer;
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
    const auto begun = drain(id);
    ASSERT_TRUE(begun) << begun.error().message();
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
  std::string drain_trouble(NodeId id) {
    const auto drain = drain_of(id);
    return drain ? drain->trouble : "";
  }
  static std::string trouble_of(TestNode& node, const std::string& name) {
    const auto placement = node.node().placement(name);
    return placement ? placement->trouble : "";
  }
  bool comes_to_have(TestNode& node, const std::string& name, std::size_t n_points) {
    return comes_true([&] { return points(node.database(), name).size() == n_points; });
  }
  std::size_t n_moving() {
    const auto now = state();
    return static_cast<std::size_t>(
        std::ranges::count_if(now.placed, [](const auto& item) { return is_moving(item.second); }));
  }
  bool holds(const std::string& name, NodeId id) { return group(name).has(id); }
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
  EXPECT_TRUE(comes_true([&] { return is_drained(id); })) << drain_trouble(id);
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
  EXPECT_TRUE(comes_to_have(*holders("two")[0], "two", next + 1));
  EXPECT_TRUE(comes_to_have(*holders("one")[0], "one", 10));
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
  ASSERT_TRUE(comes_true([&] { return n_moving() > 0; }));
  ASSERT_TRUE(end_drain(id));
  network_.set_filter({});
  ASSERT_TRUE(comes_true([&] { return n_moving() == 0; }));
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
  const std::string wanted = "collection `docs` cannot move: node " + std::to_string(id) +
                             " drains, and no other node can take the copy";
  EXPECT_TRUE(comes_true([&] { return drain_trouble(id).starts_with(wanted); }))
      << drain_trouble(id);
  write("docs", 10, 20);
  EXPECT_TRUE(are_holders("docs", before));
  third->start();
  EXPECT_TRUE(comes_true([&] { return are_holders("docs", {before[1], third}); }));
  EXPECT_TRUE(comes_to_have(*third, "docs", 20));
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
  EXPECT_TRUE(comes_to_have(*stays, "docs", 20));
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
  EXPECT_THAT(refused.error().message(), HasSubstr("it has collection `docs`: drain it first"));
  const auto leads = remove(id_of(*leader()), Removal::kForced);
  ASSERT_FALSE(leads);
  EXPECT_THAT(leads.error().message(), HasSubstr("it leads the cluster"));
  drain_now(id);
  ASSERT_TRUE(comes_true([&] { return is_drained(id); }));
  ASSERT_TRUE(remove(id, Removal::kEmpty));
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
  EXPECT_TRUE(comes_to_have(*node, "all", 10));
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
  EXPECT_TRUE(comes_to_have(*nodes_.back(), "all", 1));
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
  EXPECT_THAT(only.error().message(),
              HasSubstr("no other node that is alive has collection `alone`"));
  ASSERT_TRUE(leader()->database().drop_collection("alone"));
  ASSERT_TRUE(remove(id, Removal::kForced));
  EXPECT_EQ(n_nodes(), 3U);
  // Its copy is made anew elsewhere.
  ASSERT_TRUE(comes_true([&] {
    return !holds("two", id) && group("two").set->members.size() == 2 &&
           group("two").set->find(MemberState::kJoining) == 0;
  }));
  write("two", 10, 20);
  EXPECT_TRUE(comes_to_have(*left, "two", 20));
}

TEST_F(DrainTest, AnAnswerOfTheLedgerThatIsLostChangesNothing) {
  const NodeId id = id_of(*follower());
  const auto lose_next = [&] {
    ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
    auto n_asked = std::make_shared<std::atomic<int>>(0);
    leader()->ledger().set_faults([n_asked](LedgerCall call) {
      const bool is_lost = call == LedgerCall::kTransact && n_asked->fetch_add(1) == 0;
      return LedgerFault{is_lost ? LedgerFault::What::kAnswerLost : LedgerFault::What::kNone};
    });
  };
  lose_next();
  EXPECT_TRUE(drain(id));
  EXPECT_TRUE(comes_true([&] { return is_drained(id); }));
  lose_next();
  EXPECT_TRUE(end_drain(id));
  EXPECT_FALSE(drain_of(id));
  lose_next();
  EXPECT_TRUE(remove(id, Removal::kEmpty));
  EXPECT_FALSE(state().set->members.contains(id));
  EXPECT_EQ(n_nodes(), 2U);
}

TEST_F(DrainTest, ANodeIsNotRemovedIfTooFewWouldHaveTheChanges) {
  ASSERT_TRUE(leader()->database().create_collection("all", config(1)));
  TestNode* gone = follower();
  gone->end();
  TestNode* second = follower();
  const NodeId id = id_of(*second);
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  // While the one that is gone is alive by its lease, the answer may be another one.
  const std::string wanted = "1 of the nodes that stay have all changes, and 2 must";
  EXPECT_TRUE(comes_true([&] {
    const auto refused =
        ask_leader_once([&](Node& node) { return node.remove(id, Removal::kForced); });
    return !refused && refused.error().message() == wanted;
  }));
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
  EXPECT_TRUE(comes_to_have(*third, "docs", 20));
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
  EXPECT_TRUE(comes_true([&] {
    return trouble_of(*left, "docs").find("is away, and no other node can take the copy") !=
           std::string::npos;
  }));
  EXPECT_EQ(left->node().view().n_under_replicated, 1U);
  before[1]->start();
  EXPECT_TRUE(comes_true([&] { return trouble_of(*left, "docs").empty(); }));
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
