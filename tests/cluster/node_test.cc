// Three nodes: what one acknowledges, all have, whatever happens to one of them.
#include "cluster/node.h"

#include <gtest/gtest.h>

#include "tests/cluster/cluster_rig.h"

namespace quiver::cluster {
namespace {

class NodeTest : public ClusterRig {};

TEST_F(NodeTest, WhatTheLeaderAcknowledgesIsVisibleOnAllNodes) {
  auto& database = leader()->database();
  ASSERT_TRUE(database.create_collection("docs", config()));
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(update(database, "docs", point(i, "a")));
  }
  ASSERT_TRUE(update(database, "docs", engine::DeletePoints{std::vector{PointId::number(3)}}));
  const auto expected = points(database, "docs");
  EXPECT_EQ(expected.size(), 19U);
  for (const auto& node : nodes_) EXPECT_EQ(points(node->database(), "docs"), expected);
}

TEST_F(NodeTest, OthersRefuseChangesAndNameTheLeader) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config()));
  auto& other = follower()->database();
  const auto refused = update(other, "docs", point(1, "a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_NE(refused.error().message().find("http://node"), std::string::npos);
  EXPECT_FALSE(other.create_collection("more", config()));
  EXPECT_FALSE(other.drop_collection("docs"));
  EXPECT_FALSE(other.update_aliases({engine::CreateAlias{"docs", "alias"}}));
  EXPECT_TRUE(points(other, "docs").empty());
}

TEST_F(NodeTest, TheCatalogIsTheSameOnAllNodes) {
  auto& database = leader()->database();
  ASSERT_TRUE(database.create_collection("a", config()));
  ASSERT_TRUE(database.create_collection("b", config()));
  ASSERT_TRUE(database.update_aliases({engine::CreateAlias{"a", "first"}}));
  const auto collection = database.collection("a");
  payload::FieldIndex index;
  index.key = "value";
  ASSERT_TRUE((*collection)->create_index(index, engine::Ack::kVisible));
  ASSERT_TRUE(database.drop_collection("b"));
  for (const auto& node : nodes_) {
    ASSERT_TRUE(comes_true([&] { return !node->database().exists("b"); }));
    ASSERT_TRUE(comes_true([&] { return node->database().exists("first"); }));
    ASSERT_TRUE(comes_true(
        [&] { return (*node->database().collection("first"))->config()->indexes.size() == 1; }));
  }
  // A collection of the same name is another one.
  ASSERT_TRUE(update(database, "a", point(1, "old")));
  ASSERT_TRUE(database.drop_collection("a"));
  ASSERT_TRUE(database.create_collection("a", config()));
  ASSERT_TRUE(update(database, "a", point(2, "new")));
  for (const auto& node : nodes_) {
    ASSERT_TRUE(comes_true([&] { return points(node->database(), "a").size() == 1; }));
    EXPECT_TRUE(points(node->database(), "a").contains(2));
  }
}

TEST_F(NodeTest, AnotherNodeLeadsAfterTheLeaderIsGone) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config()));
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(update(leader()->database(), "docs", point(i, "a")));
  }
  TestNode* gone = leader();
  gone->end();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  for (std::uint64_t i = 10; i < 20; ++i) {
    ASSERT_TRUE(update(leader()->database(), "docs", point(i, "b")));
  }
  const auto expected = points(leader()->database(), "docs");
  EXPECT_EQ(expected.size(), 20U);
  gone->start();
  ASSERT_TRUE(comes_true([&] { return points(gone->database(), "docs") == expected; }));
}

TEST_F(NodeTest, ALeaderThatIsCutOffAcknowledgesNothing) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  ASSERT_TRUE(update(leader()->database(), "docs", point(1, "before")));
  TestNode* old = leader();
  old->set_cut_off(true);
  // It may not know yet that it is cut off.
  const auto lost = update(old->database(), "docs", point(2, "lost"));
  EXPECT_FALSE(lost);
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr && leader() != old; }));
  ASSERT_TRUE(update(leader()->database(), "docs", point(3, "after")));
  EXPECT_EQ(points(old->database(), "docs").size(), 1U);  // it still answers, from what it has
  old->set_cut_off(false);
  const std::map<std::uint64_t, std::string> expected{{1, R"({"value":"before"})"},
                                                      {3, R"({"value":"after"})"}};
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return points(node->database(), "docs") == expected; }));
  }
}

TEST_F(NodeTest, ChangesWaitForAMajority) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  TestNode* leads = leader();
  std::vector<TestNode*> others;
  for (const auto& node : nodes_) {
    if (node.get() != leads) others.push_back(node.get());
  }
  others[0]->end();
  ASSERT_TRUE(update(leads->database(), "docs", point(1, "two are enough")));
  others[1]->end();
  const auto refused = update(leads->database(), "docs", point(2, "one is not"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "2 of 3 nodes must store a change, and too few can be reached");
  EXPECT_EQ(points(leads->database(), "docs").size(), 1U);
  others[0]->start();
  ASSERT_TRUE(
      comes_true([&] { return update(leads->database(), "docs", point(3, "c")).has_value(); }));
  // It was late, so the change did not wait for it.
  EXPECT_TRUE(comes_true([&] { return points(others[0]->database(), "docs").size() == 2; }));
}

TEST_F(NodeTest, AllNodesComeBack) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config()));
  for (std::uint64_t i = 0; i < 30; ++i) {
    ASSERT_TRUE(update(leader()->database(), "docs", point(i, "a")));
  }
  const auto expected = points(leader()->database(), "docs");
  for (const auto& node : nodes_) node->end();
  for (const auto& node : nodes_) node->start();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return points(node->database(), "docs") == expected; }));
  }
  EXPECT_TRUE(update(leader()->database(), "docs", point(99, "b")));
}

TEST_F(NodeTest, ANewNodeTakesThePlaceOfOneThatIsGone) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config()));
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(update(leader()->database(), "docs", point(i, "a")));
  }
  TestNode* gone = follower();
  gone->end();
  std::filesystem::remove_all(gone->folder());
  gone->start();
  const auto expected = points(leader()->database(), "docs");
  EXPECT_TRUE(comes_true([&] { return points(gone->database(), "docs") == expected; }));
  EXPECT_TRUE(comes_true([&] { return n_active() == kNodes; }));
  EXPECT_EQ(leader()->node().view().members.size(), 3U);
}

TEST_F(NodeTest, ANodeThatWasAwayTooLongGetsACopy) {
  TestNode::keep_entries = 10;
  for (const auto& node : nodes_) node->end();
  for (const auto& node : nodes_) node->start();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  for (std::uint64_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(update(leader()->database(), "docs", point(i, "a")));
  }
  // The log is trimmed, then a node loses everything.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  TestNode* gone = follower();
  gone->end();
  std::filesystem::remove_all(gone->folder());
  gone->start();
  const auto expected = points(leader()->database(), "docs");
  EXPECT_TRUE(comes_true([&] { return points(gone->database(), "docs") == expected; }));
  EXPECT_TRUE(comes_true([&] { return n_active() == kNodes; }));
  ASSERT_TRUE(update(leader()->database(), "docs", point(100, "b")));
  EXPECT_TRUE(comes_true([&] { return points(gone->database(), "docs").size() == 61; }));
  TestNode::keep_entries = 10'000;
}

TEST_F(NodeTest, AnAnswerOfTheLedgerThatIsLostLosesNothing) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  std::atomic<int> n_calls = 0;
  leader()->ledger().set_faults([&](LedgerCall call) -> LedgerFault {
    if (call != LedgerCall::kTransact) return {};
    const int n = n_calls++;
    if (n % 3 == 0) return {LedgerFault::What::kAnswerLost};
    if (n % 3 == 1) return {LedgerFault::What::kNotKnown};
    return {};
  });
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(update(leader()->database(), "docs", point(i, std::to_string(i))));
  }
  leader()->ledger().set_faults({});
  const auto expected = points(leader()->database(), "docs");
  EXPECT_EQ(expected.size(), 20U);
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return points(node->database(), "docs") == expected; }));
  }
}

}  // namespace
}  // namespace quiver::cluster
