// A snapshot that is restored becomes the state of the collection on all nodes, or on none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "cluster/messages.h"
#include "tests/cluster/cluster_rig.h"

namespace quiver::cluster {
namespace {

using engine::SnapshotScope;
using ::testing::HasSubstr;
using Points = std::map<std::uint64_t, std::string>;

const SnapshotScope kDocs{"docs", std::nullopt};

class RestoreTest : public ClusterRig {
 protected:
  void SetUp() override {
    ClusterRig::SetUp();
    ASSERT_TRUE(leader()->database().create_collection("docs", config()));
    write(0, 20, "old");
    before_ = points(leader()->database(), "docs");
    ASSERT_TRUE(all_have(before_));
  }

  void write(std::uint64_t from, std::uint64_t to, const std::string& value) {
    for (std::uint64_t id = from; id < to; ++id) {
      const auto done = update(leader()->database(), "docs", point(id, value));
      ASSERT_TRUE(done) << done.error().message();
    }
  }
  /// Of what `before_` says, on the node; afterwards there are other points.
  std::string snapshot_on(TestNode& node) {
    const auto made = node.database().snapshots()->create(kDocs);
    EXPECT_TRUE(made) << made.error().message();
    write(10, 40, "new");
    after_ = points(leader()->database(), "docs");
    return made ? made->name : "";
  }
  [[nodiscard]] bool has(TestNode& node, const Points& wanted) {
    return node.runs() && points(node.database(), "docs") == wanted;
  }
  [[nodiscard]] bool all_have(const Points& wanted) {
    return comes_true([&] {
      return std::ranges::all_of(
          nodes_, [&](const auto& node) { return !node->runs() || has(*node, wanted); });
    });
  }
  static std::string id_of(TestNode& node) {
    const auto collection = node.database().collection("docs");
    return collection ? (*collection)->config()->cluster_id : "";
  }
  [[nodiscard]] static bool has_archives(TestNode& node) {
    namespace fs = std::filesystem;
    return fs::exists(node.folder() / "restores") && !fs::is_empty(node.folder() / "restores");
  }
  [[nodiscard]] bool no_archives() {
    return comes_true([&] {
      return std::ranges::none_of(nodes_, [](const auto& node) { return has_archives(*node); });
    });
  }
  /// Changes reach all nodes.
  void expect_works() {
    ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
    ASSERT_TRUE(comes_true([&] {
      return leader() != nullptr &&
             update(leader()->database(), "docs", point(1000, "later")).has_value();
    }));
    const auto now = points(leader()->database(), "docs");
    EXPECT_TRUE(now.contains(1000));
    EXPECT_TRUE(all_have(now));
  }
  static Result<> restore(TestNode& node, const std::string& snapshot) {
    return node.database().snapshots()->recover(kDocs, snapshot, "");
  }

  Points before_;
  Points after_;
};

TEST_F(RestoreTest, ByTheLeader) {
  TestNode& node = *leader();
  const auto snapshot = snapshot_on(node);
  const auto old_id = id_of(node);
  const auto restored = restore(node, snapshot);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_TRUE(has(node, before_));
  EXPECT_NE(id_of(node), old_id);
  EXPECT_TRUE(all_have(before_));
  EXPECT_TRUE(no_archives());
  expect_works();
}

TEST_F(RestoreTest, ByAnotherNodeWhoseReadsShowItAtOnce) {
  TestNode& node = *follower();
  const auto snapshot = snapshot_on(node);
  const auto restored = restore(node, snapshot);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_TRUE(has(node, before_));
  EXPECT_TRUE(all_have(before_));
  EXPECT_TRUE(no_archives());
  expect_works();
}

TEST_F(RestoreTest, SeveralTimesAndAfterARestart) {
  TestNode& node = *follower();
  const auto snapshot = snapshot_on(node);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(restore(i == 1 ? node : *leader(),
                        i == 1 ? snapshot : leader()->database().snapshots()->create(kDocs)->name));
    expect_works();
  }
  for (const auto& one : nodes_) one->end();
  for (const auto& one : nodes_) one->start();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr && n_active() == kNodes; }));
  expect_works();
}

TEST_F(RestoreTest, OfACollectionThatWasDropped) {
  TestNode& node = *leader();
  const auto archive = [&] {
    const auto made = node.database().snapshots()->create(kDocs);
    const auto reader = node.database().snapshots()->open(kDocs, made->name);
    std::string bytes((*reader)->size_bytes(), '\0');
    EXPECT_TRUE((*reader)->read(0, bytes));
    return bytes;
  }();
  ASSERT_TRUE(node.database().drop_collection("docs"));
  ASSERT_TRUE(all_have({}));
  {  // while it is received, the archive is kept
    const auto receiver = follower()->database().snapshots()->receive({"again", std::nullopt}, "");
    ASSERT_TRUE(receiver) << receiver.error().message();
    ASSERT_TRUE((*receiver)->write(archive));
    const auto restored = (*receiver)->finish();
    ASSERT_TRUE(restored) << restored.error().message();
  }
  for (const auto& one : nodes_) {
    EXPECT_TRUE(comes_true([&] { return points(one->database(), "again") == before_; }));
  }
  EXPECT_TRUE(no_archives());
}

TEST_F(RestoreTest, WhatIsDamagedChangesNothing) {
  const auto receiver = follower()->database().snapshots()->receive(kDocs, "");
  ASSERT_TRUE(receiver);
  (void)(*receiver)->write("no archive at all");
  EXPECT_FALSE((*receiver)->finish());
  const SnapshotScope shard{"docs", 0};
  const auto refused = leader()->database().snapshots()->receive(shard, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnimplemented);
  EXPECT_TRUE(all_have(before_));
  expect_works();
}

TEST_F(RestoreTest, ANodeThatWasDownHasTheOldOneAndGetsTheNewOne) {
  TestNode& node = *leader();
  TestNode& away = *follower();
  const auto snapshot = snapshot_on(node);
  ASSERT_TRUE(all_have(after_));
  away.end();
  const auto restored = restore(node, snapshot);
  ASSERT_TRUE(restored) << restored.error().message();
  write(500, 510, "meanwhile");
  const auto now = points(node.database(), "docs");
  away.start();
  // What a reader of this node sees on the way is one of the two, never a part.
  EXPECT_TRUE(comes_true([&] {
    const auto seen = points(away.database(), "docs");
    EXPECT_TRUE(seen == after_ || seen.size() >= before_.size());
    return seen == now;
  }));
  EXPECT_TRUE(no_archives());
  expect_works();
}

TEST_F(RestoreTest, WithoutAMajorityNothingChanges) {
  TestNode& node = *leader();
  const auto snapshot = snapshot_on(node);
  network_.set_filter([](const std::string&, const std::string&, std::string_view verb) {
    return verb == kStageRestore;
  });
  const auto refused = restore(node, snapshot);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("2 of 3 nodes must hold the snapshot"));
  EXPECT_TRUE(all_have(after_));
  EXPECT_TRUE(no_archives());
  network_.set_filter({});
  ASSERT_TRUE(restore(node, snapshot));
  EXPECT_TRUE(all_have(before_));
}

TEST_F(RestoreTest, TheLeaderDiesWhileArchivesAreOnTheirWay) {
  TestNode& node = *follower();
  TestNode& dies = *leader();
  const auto snapshot = snapshot_on(node);
  std::atomic<bool> is_staging = false;
  network_.set_filter([&](const std::string& from, const std::string&, std::string_view verb) {
    if (verb != kStageRestore || from != dies.peer()) return false;
    is_staging = true;
    return true;
  });
  std::promise<Result<>> outcome;
  auto answered = outcome.get_future();
  std::thread asks([&] { outcome.set_value(restore(node, snapshot)); });
  ASSERT_TRUE(comes_true([&] { return is_staging.load(); }));
  dies.end();
  const auto restored = answered.get();
  asks.join();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  network_.set_filter({});
  dies.start();
  EXPECT_TRUE(all_have(restored ? before_ : after_));
  EXPECT_TRUE(no_archives());
  expect_works();
}

/// Answers of the ledger are lost: whatever came of it, all nodes have the same.
TEST_F(RestoreTest, LostAnswersOfTheLedger) {
  TestNode& node = *follower();
  const auto snapshot = snapshot_on(node);
  constexpr std::uint32_t kSeed = 59;
  for (std::uint32_t i = 0; i < 6; ++i) {
    TestNode& leads = *leader();
    auto random = std::make_shared<std::mt19937>(kSeed + i);
    leads.ledger().set_faults([random](LedgerCall call) {
      if (call != LedgerCall::kTransact) return LedgerFault();
      const std::uint32_t n = (*random)() % 8;
      if (n < 3) return LedgerFault{LedgerFault::What::kAnswerLost};
      if (n < 5) return LedgerFault{LedgerFault::What::kNotKnown};
      if (n == 5) return LedgerFault{LedgerFault::What::kLate};
      return n == 6 ? LedgerFault{LedgerFault::What::kNotDone} : LedgerFault();
    });
    (void)restore(node, snapshot);
    leads.ledger().deliver_late();
    leads.ledger().set_faults({});
    ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
    ASSERT_TRUE(comes_true([&] {
      const auto one = points(nodes_[0]->database(), "docs");
      return (one == before_ || one == after_) && one == points(nodes_[1]->database(), "docs") &&
             one == points(nodes_[2]->database(), "docs");
    }));
    EXPECT_TRUE(no_archives());
  }
  expect_works();
}

/// A change that is acknowledged after the restore was is in the restored collection.
TEST_F(RestoreTest, ChangesMeanwhileAreBeforeOrAfter) {
  TestNode& node = *leader();
  const auto snapshot = snapshot_on(node);
  std::atomic<bool> is_over = false;
  std::atomic<bool> is_restored = false;
  std::vector<std::uint64_t> kept;
  std::thread writes([&] {
    for (std::uint64_t id = 2000; !is_over; ++id) {
      const bool was_restored = is_restored;
      const auto done = update(leader()->database(), "docs", point(id, "x"));
      if (done && was_restored) kept.push_back(id);
    }
  });
  const auto restored = restore(node, snapshot);
  is_restored = true;
  ASSERT_TRUE(
      comes_true([&] { return points(node.database(), "docs").size() > before_.size() + 5; }));
  is_over = true;
  writes.join();
  ASSERT_TRUE(restored) << restored.error().message();
  const auto now = points(node.database(), "docs");
  for (const auto id : kept) EXPECT_TRUE(now.contains(id)) << id;
  EXPECT_FALSE(now.contains(35)) << "it was not in the snapshot";
  EXPECT_TRUE(all_have(now));
}

/// What a node had alone comes into the cluster by a snapshot of it.
TEST_F(RestoreTest, ACollectionOfANodeAloneIsAdopted) {
  for (TestNode* node : {follower(), leader()}) {
    const std::string name = node->leads() ? "of-leader" : "of-follower";
    const SnapshotScope scope{name, std::nullopt};
    ASSERT_TRUE(node->local().create_collection(name, config()));
    const auto refused = update(node->local(), name, point(1, "x"));
    ASSERT_FALSE(refused) << "it would be lost when the collection is adopted";
    EXPECT_THAT(refused.error().message(), HasSubstr("cluster adopt"));
    const auto made = node->database().snapshots()->create(scope);
    ASSERT_TRUE(made) << made.error().message();
    const auto adopted = node->database().snapshots()->recover(scope, made->name, "");
    ASSERT_TRUE(adopted) << adopted.error().message();
    const auto done = update(leader()->database(), name, point(1, "x"));
    ASSERT_TRUE(done) << done.error().message();
    for (const auto& one : nodes_) {
      EXPECT_TRUE(comes_true([&] { return points(one->database(), name).size() == 1; }));
    }
  }
  // Not over another one of the cluster.
  EXPECT_TRUE(no_archives());
}

TEST_F(RestoreTest, AnotherNodesOwnCollectionIsNotReplaced) {
  TestNode& node = *follower();
  ASSERT_TRUE(node.local().create_collection("mine", config()));
  const auto made = leader()->database().snapshots()->create(kDocs);
  const auto reader = leader()->database().snapshots()->open(kDocs, made->name);
  std::string bytes((*reader)->size_bytes(), '\0');
  ASSERT_TRUE((*reader)->read(0, bytes));
  const auto receiver = leader()->database().snapshots()->receive({"mine", std::nullopt}, "");
  ASSERT_TRUE(receiver);
  ASSERT_TRUE((*receiver)->write(bytes));
  const auto restored = (*receiver)->finish();
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_TRUE(comes_true([&] { return points(leader()->database(), "mine") == before_; }));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_TRUE(points(node.local(), "mine").empty()) << "its own";
  const auto refused = node.database().snapshots()->receive({"mine", std::nullopt}, "");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("made on this node alone"));
}

}  // namespace
}  // namespace quiver::cluster
