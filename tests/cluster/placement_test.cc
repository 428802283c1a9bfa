// Collections that are on some nodes only: each has a leader of its own among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cluster/copies.h"
#include "cluster/records.h"
#include "tests/cluster/placement_rig.h"

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Kind = ReplicaChange::Kind;

using PlacementTest = PlacementRig;

TEST_F(PlacementTest, OnlyTheChosenNodesHoldTheRowsAndAllKnowTheCollection) {
  make("docs", 2);
  write("docs", 0, 20);
  const auto with = holders("docs");
  ASSERT_EQ(with.size(), 2U);
  TestNode* without = other_than(with);
  const auto expected = points(with[0]->database(), "docs");
  EXPECT_EQ(expected.size(), 20U);
  EXPECT_EQ(points(with[1]->database(), "docs"), expected);
  EXPECT_FALSE(without->local().exists("docs"));
  EXPECT_TRUE(without->database().exists("docs"));
  EXPECT_THAT(without->database().collection_names(), ::testing::ElementsAre("docs"));
  const auto away = without->database().collection("docs");
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code(), Code::kUnavailable);
  EXPECT_THAT(away.error().message(), HasSubstr("is not on this node, but on http://node"));
  const auto holders = without->node().holders("docs");
  ASSERT_TRUE(holders);
  EXPECT_FALSE(holders->is_here);
  EXPECT_EQ(holders->others.size(), 2U);
  for (const auto& node : nodes_) {
    const auto placement = node->node().placement("docs");
    ASSERT_TRUE(placement);
    EXPECT_EQ(placement->factor, 2U);
    EXPECT_EQ(placement->write_quorum, 2U);
    EXPECT_EQ(placement->replicas.size(), 2U);
  }
}

TEST_F(PlacementTest, CollectionsSpreadOverTheNodes) {
  for (int i = 0; i < 3; ++i) make("docs" + std::to_string(i), 1);
  std::set<TestNode*> used;
  for (int i = 0; i < 3; ++i) {
    const auto name = "docs" + std::to_string(i);
    write(name, 0, 3);
    ASSERT_EQ(holders(name).size(), 1U);
    used.insert(holders(name)[0]);
  }
  EXPECT_EQ(used.size(), 3U);
}

TEST_F(PlacementTest, AFactorOfAllNodesOrNoneMeansAllNodes) {
  ASSERT_TRUE(leader()->database().create_collection("all", placed_config(3, 1)));
  ASSERT_TRUE(leader()->database().create_collection("usual", config(1)));
  for (const auto& node : nodes_) {
    EXPECT_FALSE(node->node().placement("all"));
    EXPECT_FALSE(node->node().holders("usual"));
    EXPECT_TRUE(node->local().exists("all"));
  }
  ASSERT_TRUE(update(leader()->database(), "all", point(1, "a")));
  const auto refused = leader()->node().change_replicas("all", {Kind::kDrop, 1, 0});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("is on all nodes"));
}

TEST_F(PlacementTest, TheCatalogKnowsWhatIsElsewhere) {
  make("docs", 1);
  auto& catalog = leader()->database();
  const auto again = catalog.create_collection("docs", config());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::kAlreadyExists);
  ASSERT_TRUE(catalog.update_aliases({engine::CreateAlias{"docs", "first"}}));
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return node->database().exists("first"); }));
    EXPECT_TRUE(comes_true([&] { return node->database().aliases().size() == 1; }));
    EXPECT_TRUE(node->node().holders("first"));
  }
  EXPECT_FALSE(catalog.create_collection("first", config()));
  EXPECT_FALSE(catalog.create_collection("first", placed_config(1, 1)));
  EXPECT_FALSE(catalog.update_aliases({engine::CreateAlias{"none", "second"}}));
  EXPECT_FALSE(catalog.update_aliases({engine::DeleteAlias{"none"}}));
  EXPECT_FALSE(catalog.update_aliases({engine::CreateAlias{"docs", "docs"}}));
  ASSERT_TRUE(catalog.update_aliases({engine::RenameAlias{"first", "second"}}));
  payload::FieldIndex index;
  index.key = "value";
  auto collection = leader_of("docs")->database().collection("second");
  ASSERT_TRUE(collection) << collection.error().message();
  ASSERT_TRUE((*collection)->create_index(index, engine::Ack::kVisible));
  for (const auto& node : nodes_) {
    EXPECT_TRUE(
        comes_true([&] { return node->node().placement("docs")->config.indexes.size() == 1; }));
  }
  collection = fail(Code::kNotFound, "");
  const auto dropped = catalog.drop_collection("docs");
  ASSERT_TRUE(dropped && *dropped);
  const Keys keys("quiver");
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return !node->database().exists("docs"); }));
    EXPECT_TRUE(comes_true([&] { return !node->database().exists("second"); }));
    EXPECT_TRUE(comes_true([&] { return !node->local().exists("docs"); }));
  }
  for (const std::string kind : {"set/", "leader/", "tail/"}) {
    const std::string prefix = keys.state() + kind;
    EXPECT_TRUE(comes_true([&] {
      return store_->range({prefix, prefix_end(prefix)})->items.empty();
    }));
  }
  make("docs", 2);
  write("docs", 0, 5);
}

TEST_F(PlacementTest, AllNodesComeBackWithPlacedCollections) {
  make("docs", 2);
  make("one", 1);
  write("docs", 0, 10);
  write("one", 0, 10);
  const auto before = holders("docs");
  for (const auto& node : nodes_) node->end();
  for (const auto& node : nodes_) node->start();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr && leader_of("docs") != nullptr; }));
  write("docs", 10, 20);
  write("one", 10, 20);
  EXPECT_EQ(holders("docs"), before);
  for (TestNode* node : holders("docs")) EXPECT_EQ(points(node->database(), "docs").size(), 20U);
}

TEST_F(PlacementTest, TheOthersOfItsNodesGoOnWithoutTheLeader) {
  begin_anew(4);
  make("docs", 3, 1);
  write("docs", 0, 10);
  TestNode* gone = leader_of("docs");
  gone->end();
  ASSERT_TRUE(comes_true([&] { return leader_of("docs") != nullptr; }));
  EXPECT_NE(leader_of("docs"), gone);
  write("docs", 10, 20);
  gone->start();
  EXPECT_TRUE(comes_true([&] { return points(gone->database(), "docs").size() == 20; }));
}

TEST_F(PlacementTest, ChangesWaitForAMajorityOfItsNodesAndOtherCollectionsDoNot) {
  make("docs", 2, 1);
  make("one", 1, 1);
  write("docs", 0, 5);
  TestNode* leads = leader_of("docs");
  TestNode* gone = holders("docs")[0] == leads ? holders("docs")[1] : holders("docs")[0];
  TestNode* third = other_than(holders("docs"));
  gone->end();
  const auto refused = update_anywhere("docs", point(7, "b"));
  ASSERT_FALSE(refused);
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  ASSERT_TRUE(leader()->database().create_collection("later", placed_config(1, 1)));
  write("later", 0, 5);
  EXPECT_EQ(points(leads->database(), "docs").size(), 5U);
  EXPECT_FALSE(third->local().exists("docs"));
  gone->start();
  write("docs", 7, 9);
}

TEST_F(PlacementTest, ADeposedLeaderOfACollectionAcknowledgesNothing) {
  make("docs", 2, 1);
  write("docs", 0, 3);
  TestNode* old = leader_of("docs");
  old->set_cut_off(true);
  EXPECT_FALSE(update(old->database(), "docs", point(9, "lost")));
  old->set_cut_off(false);
  write("docs", 3, 6);
  for (TestNode* node : holders("docs")) {
    EXPECT_TRUE(comes_true([&] { return points(node->database(), "docs").size() == 6; }));
    EXPECT_FALSE(points(node->database(), "docs").contains(9));
  }
}

TEST_F(PlacementTest, MovesWhileItIsWritten) {
  make("docs", 2);
  write("docs", 0, 50);
  const auto before = holders("docs");
  TestNode* target = other_than(before);
  TestNode* source = before[0];
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> next = 50;
  std::thread writer([&] {
    while (!stop) {
      if (update_anywhere("docs", point(next, "a"))) ++next;
    }
  });
  const auto begun = change("docs", Kind::kMove, id_of(*source), id_of(*target));
  EXPECT_TRUE(begun) << begun.error().message();
  EXPECT_TRUE(comes_true([&] { return are_holders("docs", {before[1], target}); }));
  std::this_thread::sleep_for(milliseconds(300));
  stop = true;
  writer.join();
  write("docs", 1'000'000, 1'000'001);
  const auto expected = points(target->database(), "docs");
  EXPECT_EQ(expected.size(), next + 1);
  EXPECT_TRUE(comes_true([&] { return points(before[1]->database(), "docs") == expected; }));
  EXPECT_TRUE(comes_true([&] { return !source->local().exists("docs"); }));
  EXPECT_TRUE(source->database().exists("docs"));
}

TEST_F(PlacementTest, TheLeaderMovesAwayAndBack) {
  make("docs", 1, 1);
  write("docs", 0, 20);
  TestNode* first = leader_of("docs");
  TestNode* second = other_than({first});
  ASSERT_TRUE(change("docs", Kind::kMove, id_of(*first), id_of(*second)));
  ASSERT_TRUE(comes_true([&] { return are_holders("docs", {second}); }));
  write("docs", 20, 40);
  EXPECT_EQ(leader_of("docs"), second);
  ASSERT_TRUE(comes_true([&] { return !first->local().exists("docs"); }));
  ASSERT_TRUE(change("docs", Kind::kMove, id_of(*second), id_of(*first)));
  ASSERT_TRUE(comes_true([&] { return are_holders("docs", {first}); }));
  write("docs", 40, 60);
  EXPECT_EQ(points(first->database(), "docs").size(), 60U);
}

TEST_F(PlacementTest, ACollectionWithATrimmedLogMovesByACopy) {
  TestNode::keep_entries = 10;
  for (const auto& node : nodes_) node->end();
  for (const auto& node : nodes_) node->start();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  make("docs", 1, 1);
  write("docs", 0, 60);
  const Keys keys("quiver");
  const std::string bases = keys.state() + "base/";
  EXPECT_TRUE(comes_true([&] {
    return !store_->range({bases, prefix_end(bases)})->items.empty();
  }));
  TestNode* first = leader_of("docs");
  TestNode* second = other_than({first});
  ASSERT_TRUE(change("docs", Kind::kMove, id_of(*first), id_of(*second)));
  EXPECT_TRUE(comes_true([&] { return are_holders("docs", {second}); }));
  EXPECT_EQ(points(second->database(), "docs").size(), 60U);
  TestNode::keep_entries = 10'000;
}

/// A copy has indexes, and is made beside everything else that the node does.
TEST_F(PlacementTest, ALongLogMovesByACopyAndItsNodeGoesOnMeanwhile) {
  make("docs", 1, 1);
  write("docs", 0, 250);
  TestNode& source = *holders("docs").front();
  TestNode& target = *other_than({&source});
  network_.hold(std::string(kReadCopy));
  EXPECT_TRUE(change("docs", Kind::kMove, id_of(source), id_of(target)));
  EXPECT_TRUE(comes_true([&] { return network_.holds_one(); }));
  EXPECT_TRUE(leader()->database().create_collection("other", config()));
  EXPECT_TRUE(comes_true([&] { return target.local().exists("other"); }));
  EXPECT_TRUE(leader()->database().update_aliases({engine::CreateAlias{"other", "alias"}}));
  EXPECT_TRUE(comes_true([&] { return target.database().exists("alias"); }));
  write("docs", 250, 260);
  EXPECT_FALSE(target.local().exists("docs"));
  network_.hold("");
  EXPECT_TRUE(comes_true([&] { return are_holders("docs", {&target}); }));
  EXPECT_EQ(points(target.database(), "docs").size(), 260U);
  write("docs", 260, 270);
  EXPECT_EQ(points(target.database(), "docs").size(), 270U);
}

TEST_F(PlacementTest, CopiesAreAddedAndDropped) {
  make("docs", 1, 1);
  write("docs", 0, 10);
  TestNode* first = leader_of("docs");
  TestNode* second = other_than({first});
  ASSERT_TRUE(change("docs", Kind::kReplicate, 0, id_of(*second)));
  ASSERT_TRUE(comes_true([&] { return are_holders("docs", {first, second}); }));
  EXPECT_EQ(first->node().placement("docs")->write_quorum, 2U);
  write("docs", 10, 20);
  EXPECT_EQ(points(second->database(), "docs").size(), 20U);
  ASSERT_TRUE(change("docs", Kind::kDrop, id_of(*first), 0));
  ASSERT_TRUE(comes_true([&] { return are_holders("docs", {second}); }));
  write("docs", 20, 30);
  const auto last = change("docs", Kind::kDrop, id_of(*second), 0);
  ASSERT_FALSE(last);
  EXPECT_THAT(last.error().message(), HasSubstr("0 copies would be left"));
}

TEST_F(PlacementTest, AMoveIsAbortedOrGoesOnWhenItsTargetIsBack) {
  make("docs", 1, 1);
  write("docs", 0, 10);
  TestNode* first = leader_of("docs");
  TestNode* target = other_than({first});
  TestNode* third = other_than({first, target});
  // The target cannot get bodies, as if it were dying while it copies.
  network_.set_filter([&](const std::string&, const std::string& to, std::string_view verb) {
    return to == target->peer() && verb == "committed";
  });
  target->end();
  const auto down = change("docs", Kind::kMove, id_of(*first), 12345);
  EXPECT_FALSE(down);
  target->start();
  ASSERT_TRUE(comes_true(
      [&] { return change("docs", Kind::kMove, id_of(*first), id_of(*target)).has_value(); }));
  const auto second = change("docs", Kind::kReplicate, 0, id_of(*third));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("one at a time"));
  target->end();
  write("docs", 10, 20);
  ASSERT_TRUE(change("docs", Kind::kAbort, 0, 0));
  EXPECT_FALSE(change("docs", Kind::kAbort, 0, 0));
  target->start();
  ASSERT_TRUE(comes_true(
      [&] { return change("docs", Kind::kMove, id_of(*first), id_of(*target)).has_value(); }));
  target->end();
  network_.set_filter({});
  target->start();
  EXPECT_TRUE(comes_true([&] { return are_holders("docs", {target}); }));
  write("docs", 20, 30);
  EXPECT_EQ(points(target->database(), "docs").size(), 30U);
}

TEST_F(PlacementTest, ANodeThatLostItsDataGetsItsCopiesAgain) {
  make("docs", 2, 1);
  write("docs", 0, 10);
  TestNode* leads = leader_of("docs");
  TestNode* gone = holders("docs")[0] == leads ? holders("docs")[1] : holders("docs")[0];
  gone->end();
  std::filesystem::remove_all(gone->folder());
  gone->start();
  ASSERT_TRUE(comes_true([&] { return are_holders("docs", {leads, gone}); }));
  write("docs", 10, 20);
  EXPECT_EQ(points(gone->database(), "docs").size(), 20U);
}

TEST_F(PlacementTest, AMoveAwayFromANodeThatIsGone) {
  make("docs", 2, 1);
  write("docs", 0, 10);
  TestNode* leads = leader_of("docs");
  TestNode* gone = holders("docs")[0] == leads ? holders("docs")[1] : holders("docs")[0];
  TestNode* target = other_than({leads, gone});
  const NodeId gone_id = id_of(*gone);
  gone->end();
  ASSERT_TRUE(
      comes_true([&] { return change("docs", Kind::kMove, gone_id, id_of(*target)).has_value(); }));
  ASSERT_TRUE(comes_true([&] { return holders("docs").size() == 2; }));
  write("docs", 10, 20);
  EXPECT_EQ(points(target->database(), "docs").size(), 20U);
  gone->start();
  EXPECT_TRUE(comes_true([&] { return !gone->local().exists("docs"); }));
}

TEST_F(PlacementTest, NothingIsPlacedWhileANodeRunsAnOlderVersion) {
  TestNode* node = follower();
  const Keys keys("quiver");
  const auto found = store_->range({keys.alive(id_of(*node))});
  Transaction older;
  older.writes = {{found->items[0].key,
                   R"({"v":1,"peer":")" + node->peer() + R"(","http":"http://old"})",
                   {},
                   found->items[0].lease}};
  ASSERT_TRUE(store_->transact(older));
  ASSERT_TRUE(leader()->database().create_collection("docs", placed_config(1, 1)));
  EXPECT_FALSE(leader()->node().placement("docs"));
}

}  // namespace
}  // namespace quiver::cluster
