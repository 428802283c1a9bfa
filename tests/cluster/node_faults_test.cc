// What a cluster must survive, or refuse, when a ledger, a disk or a message fails in a nasty way.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster/messages.h"
#include "cluster/records.h"
#include "tests/cluster/cluster_rig.h"

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class NodeFaultsTest : public ClusterRig {
 protected:
  /// The one that is neither.
  TestNode* third(const TestNode* one, const TestNode* other) {
    for (const auto& node : nodes_) {
      if (node.get() != one && node.get() != other) return node.get();
    }
    return nullptr;
  }
  void make(const std::string& name, std::uint64_t n_points) {
    ASSERT_TRUE(leader()->database().create_collection(name, config(1)));
    for (std::uint64_t i = 0; i < n_points; ++i) {
      ASSERT_TRUE(update(leader()->database(), name, point(i, "a")));
    }
  }
  static Result<> add_field(TestNode& node, const std::string& name) {
    return node.database().update_config("docs", [&](engine::CollectionConfig& config) {
      return engine::add_field(
          config, {name, FieldKind::kDense, 3, DType::kF32, Metric::kDot, SparseModifier::kNone});
    });
  }
  static std::size_t n_fields(TestNode& node) {
    return (*node.database().collection("docs"))->config()->fields.size();
  }
};

TEST_F(NodeFaultsTest, AnotherNodeLeadsAfterAShardKeyWasDropped) {
  TestNode* first = leader();
  auto keyed = config(1);
  keyed.sharding = engine::ShardingMethod::kCustom;
  ASSERT_TRUE(first->database().create_collection("docs", keyed));
  auto collection = *first->database().collection("docs");
  engine::ShardKeyCreation creation;
  creation.key = std::string("k");
  ASSERT_TRUE(collection->create_shard_key(creation));
  auto keyed_point = point(1, "a");
  keyed_point.shards.keys = {std::string("k")};
  ASSERT_TRUE(update(first->database(), "docs", keyed_point));
  ASSERT_TRUE(collection->drop_shard_key(engine::ShardKey(std::string("k"))));
  collection.reset();
  EXPECT_TRUE(first->node().wait_until_fresh("docs", patience_end(std::chrono::seconds(3))));
  first->end();
  EXPECT_TRUE(comes_true([&] { return leader() != nullptr; }));
}

TEST_F(NodeFaultsTest, NoNodeDropsItsDataForALedgerThatLostAll) {
  make("docs", 10);
  const auto expected = points(leader()->database(), "docs");
  for (const auto& node : nodes_) {
    ASSERT_TRUE(comes_true([&] { return points(node->database(), "docs") == expected; }));
    node->end();
  }
  nodes_.clear();
  store_ = std::make_shared<MemoryLedgerStore>();
  for (int i = 0; i < kNodes; ++i) {
    nodes_.push_back(std::make_unique<TestNode>(store_, network_, folder_.path(), i));
    nodes_.back()->start();
  }
  for (const auto& node : nodes_) {
    ASSERT_TRUE(comes_true([&] { return !node->node().view().refusal.empty(); }));
    EXPECT_NE(node->node().view().refusal.find("lost its data"), std::string::npos);
    EXPECT_EQ(points(node->database(), "docs"), expected);
  }
  EXPECT_EQ(leader(), nullptr);
}

TEST_F(NodeFaultsTest, ALedgerThatLostEntriesIsNotFollowed) {
  make("docs", 10);
  const Keys keys("quiver");
  const auto id = (*leader()->database().collection("docs"))->config()->cluster_id;
  const auto tail = keys.tail({id, 0});
  const engine::EntryNumber older = 4;
  Transaction back;
  back.writes = {{tail, encode_tail({older, std::string(engine::kEntryHashBytes, 'x')})}};
  ASSERT_TRUE(store_->transact(back));
  ASSERT_TRUE(comes_true([&] {
    return std::ranges::all_of(nodes_, [](const auto& node) {
      return node->node().view().refusal.find("lost entries") != std::string::npos;
    });
  }));
  EXPECT_EQ(leader(), nullptr);
}

TEST_F(NodeFaultsTest, ADeposedLeaderAcknowledgesNoDeleteOfWhatItDoesNotKnow) {
  TestNode* old = leader();
  make("docs", 1);
  old->ledger().set_faults([](LedgerCall) {
    return LedgerFault{LedgerFault::What::kNotKnown, milliseconds(2000)};
  });
  network_.set_cut_off(old->peer(), true);
  TestNode* now = nullptr;
  ASSERT_TRUE(comes_true([&] {
    for (const auto& node : nodes_) {
      if (node.get() != old && node->leads()) now = node.get();
    }
    return now != nullptr;
  }));
  ASSERT_TRUE(update(now->database(), "docs", point(2, "b")));
  const engine::DeletePoints deletion{std::vector{PointId::number(2)}};
  EXPECT_FALSE(update(old->database(), "docs", deletion));
  EXPECT_FALSE((*old->database().collection("docs"))->drop_index("none"));
  EXPECT_FALSE(old->database().drop_collection("none"));
  old->ledger().set_faults({});
}

TEST_F(NodeFaultsTest, ADropUnderLoadLeavesNothingToWaitFor) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config(4)));
  auto& database = leader()->database();
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 0; !stop; ++i) {
        std::ignore = update(database, "docs", point(t * 100'000 + i, "a"));
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_TRUE(database.drop_collection("docs"));
  stop = true;
  for (auto& writer : writers) writer.join();
  EXPECT_TRUE(comes_true([&] {
    const auto view = leader()->node().view();
    return std::ranges::all_of(view.members, [](const auto& m) { return m.lag_entries == 0; });
  }));
  const Keys keys("quiver");
  EXPECT_TRUE(comes_true([&] {
    const std::string tails = keys.state() + "tail/";
    return store_->range({tails, prefix_end(tails)})->items.empty();
  }));
}

/// The outcome of the first attempt is lost, and the second is surely not done.
TEST_F(NodeFaultsTest, AConfigurationOfUnknownOutcomeIsAdoptedByTheLeader) {
  TestNode* first = leader();
  make("docs", 1);
  std::atomic<int> n_calls = 0;
  first->ledger().set_faults([&](LedgerCall call) -> LedgerFault {
    if (call != LedgerCall::kTransact) return {};
    const int n = n_calls++;
    if (n == 0) return {LedgerFault::What::kAnswerLost};
    return {n == 1 ? LedgerFault::What::kNotDone : LedgerFault::What::kNone};
  });
  const auto added = add_field(*first, "extra");
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message().find("not known"), std::string::npos);
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return n_fields(*node) == 2; })) << node->peer();
  }
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr && add_field(*leader(), "more"); }));
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return n_fields(*node) == 3; })) << node->peer();
  }
  first->ledger().set_faults({});
}

TEST_F(NodeFaultsTest, AFullLedgerMayHaveDoneWhatItRefuses) {
  TestNode* first = leader();
  make("docs", 1);
  std::atomic<int> n_full = 1;
  first->ledger().set_faults([&](LedgerCall call) -> LedgerFault {
    const bool is_full = call == LedgerCall::kTransact && n_full.fetch_sub(1) > 0;
    return {is_full ? LedgerFault::What::kFull : LedgerFault::What::kNone};
  });
  EXPECT_TRUE(update(first->database(), "docs", point(7, "x")));
  n_full = 1;
  EXPECT_TRUE(add_field(*first, "extra"));
  EXPECT_EQ(n_fields(*first), 2U);
  first->ledger().set_faults({});
  EXPECT_EQ(points(first->database(), "docs").size(), 2U);
}

TEST_F(NodeFaultsTest, ANodeIsSeenAfterItsRegistrationWasLost) {
  TestNode* node = follower();
  std::atomic<int> n_calls = 0;
  node->ledger().set_faults([&](LedgerCall call) -> LedgerFault {
    if (call != LedgerCall::kTransact) return {};
    return {n_calls++ == 0 ? LedgerFault::What::kLate : LedgerFault::What::kNone};
  });
  const Keys keys("quiver");
  const auto lease = [&] {
    const auto found = store_->range({keys.alive(node->node().view().self)});
    return found->items.empty() ? LeaseId{0} : found->items[0].lease;
  };
  store_->expire_lease(lease());
  ASSERT_TRUE(comes_true([&] { return n_calls >= 2; }));
  node->ledger().deliver_late();  // bound to the lease before
  std::this_thread::sleep_for(milliseconds(2500));
  EXPECT_TRUE(comes_true([&] { return lease() != 0; }));
  node->ledger().set_faults({});  // they count in this frame
}

/// As if its disk were full.
TEST_F(NodeFaultsTest, ANodeThatCannotCatchUpLeavesTheKeyToAnother) {
  TestNode* first = leader();
  TestNode* behind = follower();
  TestNode* healthy = third(first, behind);
  make("docs", 1);
  behind->set_cut_off(true);
  for (std::uint64_t i = 2; i < 6; ++i) {
    ASSERT_TRUE(update(first->database(), "docs", point(i, "a")));
  }
  network_.set_filter([&](const std::string& from, const std::string&, std::string_view verb) {
    return from == behind->peer() && verb == kGetBody;
  });
  healthy->ledger().set_reachable(false);
  first->end();
  behind->set_cut_off(false);
  std::this_thread::sleep_for(milliseconds(2500));
  healthy->ledger().set_reachable(true);
  EXPECT_TRUE(comes_true([&] { return healthy->leads(); }));
  network_.set_filter({});
  const auto expected = points(healthy->database(), "docs");
  EXPECT_EQ(expected.size(), 5U);
  EXPECT_TRUE(comes_true([&] { return points(behind->database(), "docs") == expected; }));
}

TEST_F(NodeFaultsTest, ANodeThatIsInVainWaitedForIsWaitedForOnce) {
  TestNode* first = leader();
  TestNode* slow = follower();
  make("docs", 1);
  network_.set_filter([&](const std::string& from, const std::string& to, std::string_view verb) {
    return (to == slow->peer() && verb != kApplyCommitted && verb != kGetApplied) ||
           (from == slow->peer() && verb == kGetBody);
  });
  ASSERT_TRUE(update(first->database(), "docs", point(2, "a")));
  const auto begin = Clock::now();
  for (std::uint64_t i = 3; i < 9; ++i) {
    ASSERT_TRUE(update(first->database(), "docs", point(i, "a")));
  }
  EXPECT_LT(Clock::now() - begin, patience(std::chrono::seconds(3)));
  network_.set_filter({});
  const auto expected = points(first->database(), "docs");
  EXPECT_TRUE(comes_true([&] { return points(slow->database(), "docs") == expected; }));
}

TEST_F(NodeFaultsTest, ACollectionThatCannotBeAdoptedStopsNoOther) {
  TestNode* node = follower();
  ASSERT_TRUE(node->local().create_collection("docs", config(1)));
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  ASSERT_TRUE(leader()->database().create_collection("other", config(1)));
  ASSERT_TRUE(update(leader()->database(), "other", point(1, "a")));
  EXPECT_TRUE(comes_true([&] { return points(node->database(), "other").size() == 1; }));
  EXPECT_TRUE(node->node().wait_until_fresh("other", patience_end(std::chrono::seconds(3))));
}

TEST_F(NodeFaultsTest, AnEmptyNodeDoesNotCountUntilItHasAll) {
  make("docs", 20);
  TestNode* node = follower();
  node->end();
  std::filesystem::remove_all(node->folder());
  network_.set_filter([&](const std::string& from, const std::string&, std::string_view verb) {
    return from == node->peer() && verb == kGetBody;
  });
  node->start();
  const auto counts = [&] {
    const auto view = node->node().view();
    return std::ranges::any_of(view.members,
                               [&](const auto& m) { return m.id == view.self && m.is_active; });
  };
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_FALSE(counts());
  network_.set_filter({});
  EXPECT_TRUE(comes_true(counts));
  EXPECT_EQ(points(node->database(), "docs").size(), 20U);
}

TEST_F(NodeFaultsTest, ACopyOfADataDirectoryIsRefused) {
  TestNode* node = follower();
  const auto copy_folder = folder_.path() / "copy" / "node7";
  std::filesystem::create_directories(copy_folder);
  std::filesystem::copy_file(node->folder() / "node", copy_folder / "node");
  TestNode copy(store_, network_, folder_.path() / "copy", 7);
  copy.start();
  std::this_thread::sleep_for(milliseconds(1500));
  const Keys keys("quiver");
  const auto found = store_->range({keys.alive(node->node().view().self)});
  ASSERT_EQ(found->items.size(), 1U);
  EXPECT_NE(found->items[0].value.find(node->peer()), std::string::npos);
}

}  // namespace
}  // namespace quiver::cluster
