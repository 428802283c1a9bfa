// Snapshots of collections that are on some nodes only: they are restored on these nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cluster/messages.h"
#include "engine/snapshots.h"
#include "tests/cluster/placement_rig.h"

namespace quiver::cluster {
namespace {

using engine::SnapshotScope;
using ::testing::HasSubstr;

using Points = std::map<std::uint64_t, std::string>;

const SnapshotScope kPlaced{"placed", std::nullopt};

class PlacedRestoreTest : public PlacementRig {
 protected:
  /// An archive of "placed" as `before_` says; afterwards it has other points.
  void fill(int factor) {
    make("placed", factor);
    write("placed", 0, 20);
    TestNode& node = *leader_of("placed");
    before_ = points(node.database(), "placed");
    const auto made = node.database().snapshots()->create(kPlaced);
    ASSERT_TRUE(made) << made.error().message();
    const auto reader = node.database().snapshots()->open(kPlaced, made->name);
    ASSERT_TRUE(reader) << reader.error().message();
    archive_.resize((*reader)->size_bytes());
    ASSERT_TRUE((*reader)->read(0, archive_));
    write("placed", 100, 130);
    after_ = points(leader_of("placed")->database(), "placed");
  }
  /// The archive is sent to the node.
  Result<> restore(TestNode& node, const std::string& name = "placed") {
    QV_TRY(const auto receiver, node.database().snapshots()->receive({name, std::nullopt}, ""));
    QV_TRY(receiver->write(archive_));
    return receiver->finish();
  }
  /// True if the nodes hold the collection, with these points, and no other node has any of it.
  bool have(const std::string& name, const std::vector<TestNode*>& nodes, const Points& wanted) {
    return comes_true([&] {
      return are_holders(name, nodes) && std::ranges::all_of(nodes_, [&](const auto& node) {
               if (!node->runs()) return true;
               const bool holds = std::ranges::find(nodes, node.get()) != nodes.end();
               return holds ? points(node->local(), name) == wanted : !node->local().exists(name);
             });
    });
  }
  bool no_archives() {
    namespace fs = std::filesystem;
    return comes_true([&] {
      return std::ranges::none_of(nodes_, [](const auto& node) {
        const auto folder = node->folder() / "restores";
        return fs::exists(folder) && !fs::is_empty(folder);
      });
    });
  }
  void expect_works(const std::string& name) {
    ASSERT_TRUE(comes_true([&] { return update_anywhere(name, point(1000, "a")).has_value(); }));
    const auto now = points(leader_of(name)->database(), name);
    EXPECT_TRUE(now.contains(1000));
    EXPECT_TRUE(have(name, holders(name), now));
  }
  std::string id_of_collection() { return state().collections.at("placed").config.cluster_id; }

  std::string archive_;
  Points before_, after_;
};

TEST_F(PlacedRestoreTest, ByEveryNode) {
  fill(2);
  const auto on = holders("placed");
  ASSERT_EQ(on.size(), 2U);
  for (const auto& node : nodes_) {
    const auto old_id = id_of_collection();
    const auto restored = restore(*node);
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_NE(id_of_collection(), old_id);
    EXPECT_TRUE(have("placed", on, before_));
    EXPECT_TRUE(no_archives());
    expect_works("placed");
    const auto now = state();
    EXPECT_EQ(now.placed.size(), 1U) << "nothing of the old one is left in the ledger";
    EXPECT_EQ(now.tails.size(), 2U);
  }
}

TEST_F(PlacedRestoreTest, ANewNameIsOnAsManyNodesAsTheSnapshotSays) {
  fill(1);
  for (const auto& node : nodes_) {
    const std::string name = "other-" + std::to_string(id_of(*node));
    const auto restored = restore(*node, name);
    ASSERT_TRUE(restored) << restored.error().message();
    ASSERT_TRUE(comes_true([&] { return holders(name).size() == 1; }));
    EXPECT_TRUE(have(name, holders(name), before_));
    expect_works(name);
  }
  EXPECT_TRUE(no_archives());
  EXPECT_TRUE(have("placed", holders("placed"), after_));
}

TEST_F(PlacedRestoreTest, OneThatIsOnAllNodesStaysThere) {
  fill(1);
  ASSERT_TRUE(leader()->database().create_collection("all", config()));
  ASSERT_TRUE(restore(*nodes_[1], "all"));
  EXPECT_FALSE(nodes_[0]->node().placement("all"));
  EXPECT_TRUE(comes_true([&] {
    return std::ranges::all_of(
        nodes_, [&](const auto& node) { return points(node->local(), "all") == before_; });
  }));
}

TEST_F(PlacedRestoreTest, EndsAMove) {
  fill(1);
  TestNode& from = *holders("placed").front();
  TestNode& to = *other_than({&from});
  // Entries do not arrive, so the move goes on until the restore.
  network_.set_filter([](const std::string&, const std::string&, std::string_view verb) {
    return verb == kGetBody || verb == kStoreBodies;
  });
  ASSERT_TRUE(change("placed", ReplicaChange::Kind::kMove, id_of(from), id_of(to)));
  ASSERT_TRUE(comes_true([&] { return group("placed").has(id_of(to)); }));
  const auto restored = restore(from);
  network_.set_filter({});
  ASSERT_TRUE(restored) << restored.error().message();
  ASSERT_EQ(group("placed").set->members.size(), 1U) << "one copy, as before the move";
  EXPECT_TRUE(group("placed").set->is_active(id_of(to)));
  EXPECT_TRUE(comes_true([&] { return leader_of("placed") != nullptr; }));
  EXPECT_TRUE(have("placed", {&to}, before_));
  expect_works("placed");
  EXPECT_TRUE(no_archives());
}

TEST_F(PlacedRestoreTest, AHolderThatWasDownGetsIt) {
  begin_anew(4);
  fill(3);
  const auto on = holders("placed");
  TestNode* away = on[0] == leader() ? on[1] : on[0];
  away->end();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr; }));
  std::vector<TestNode*> others = on;
  std::erase(others, away);
  ASSERT_TRUE(comes_true([&] { return restore(*others.front()).has_value(); }));
  EXPECT_TRUE(comes_true([&] { return points(others[1]->local(), "placed") == before_; }));
  away->start();
  EXPECT_TRUE(have("placed", on, before_));
  expect_works("placed");
  EXPECT_TRUE(no_archives());
}

TEST_F(PlacedRestoreTest, WithoutAMajorityOfItsNodesNothingChanges) {
  fill(2);
  const auto on = holders("placed");
  TestNode& node = *other_than(on);
  network_.set_filter([&](const std::string&, const std::string& to, std::string_view verb) {
    return verb == kStageRestore && to == on[0]->peer();
  });
  // Where this node leads the cluster it holds the archive, whatever the network does.
  const bool is_refused = on[0] != leader();
  const auto restored = restore(node);
  if (is_refused) {
    ASSERT_FALSE(restored);
    EXPECT_THAT(restored.error().message(), HasSubstr("2 of 2 nodes must hold the snapshot"));
    EXPECT_TRUE(have("placed", on, after_));
  }
  EXPECT_TRUE(no_archives());
  network_.set_filter({});
  ASSERT_TRUE(restore(node));
  EXPECT_TRUE(have("placed", on, before_));
}

TEST_F(PlacedRestoreTest, WhatDoesNotFitIsRefusedByNodesWithoutIt) {
  fill(1);
  auto other = placed_config(1, 1);
  ASSERT_TRUE(leader()->database().create_collection("other", other));
  ASSERT_TRUE(comes_true([&] { return leader_of("other") != nullptr; }));
  for (const auto& node : nodes_) {
    const auto refused = restore(*node, "other");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kInvalidArgument) << refused.error().message();
    EXPECT_THAT(refused.error().message(), HasSubstr("not compatible with existing collection"));
  }
  EXPECT_TRUE(no_archives());
}

/// A change that is acknowledged after the restore was is in the restored collection.
TEST_F(PlacedRestoreTest, ChangesMeanwhileAreBeforeOrAfter) {
  fill(2);
  const auto on = holders("placed");
  std::atomic<bool> is_over = false;
  std::atomic<bool> is_restored = false;
  std::atomic<int> n_kept = 0;
  std::vector<std::uint64_t> kept;
  std::thread writes([&] {
    for (std::uint64_t id = 2000; !is_over; ++id) {
      const bool was_restored = is_restored;
      if (!update_anywhere("placed", point(id, "x")) || !was_restored) continue;
      kept.push_back(id);
      ++n_kept;
    }
  });
  const auto restored = restore(*nodes_[0]);
  is_restored = true;
  const bool has_written = comes_true([&] { return n_kept > 20; });
  is_over = true;
  writes.join();
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_TRUE(has_written);
  const auto now = points(leader_of("placed")->database(), "placed");
  for (const auto id : kept) EXPECT_TRUE(now.contains(id)) << id;
  EXPECT_FALSE(now.contains(120)) << "it was not in the snapshot";
  EXPECT_TRUE(have("placed", on, now));
}

}  // namespace
}  // namespace quiver::cluster
