// Random changes and faults; afterwards all nodes are equal, and hold what was acknowledged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/records.h"
#include "engine/model/shard_key.h"
#include "engine/snapshots.h"
#include "tests/cluster/cluster_rig.h"

namespace quiver::cluster {
namespace {

/// What a point may hold: one value after an acknowledged change, more after one whose outcome is
/// not known. "": there is no such point.
using Possible = std::map<std::uint64_t, std::set<std::string>>;

class ClusterModel : public ClusterRig {
 protected:
  void change_something() {
    const std::uint64_t id = random_() % 40;
    const bool deletes = random_() % 4 == 0;
    const std::string value = "v" + std::to_string(n_changes_++);
    const auto written = deletes ? std::string() : R"({"value":")" + value + R"("})";
    auto& possible = possible_.try_emplace(id, std::set<std::string>{""}).first->second;
    TestNode* by = changes_by();
    if (by == nullptr) return;
    const auto done = deletes
                          ? change(*by, engine::DeletePoints{std::vector{PointId::number(id)}, {}})
                          : change(*by, point(id, value));
    if (done) {
      possible = {written};
      ++n_acknowledged_;
    } else {
      possible.insert(written);
    }
  }

  /// The node that takes changes; nullptr: none now.
  [[nodiscard]] virtual TestNode* changes_by() { return leader(); }
  [[nodiscard]] virtual Result<> change(TestNode& by, engine::Operation operation) {
    return update(by.database(), "docs", std::move(operation));
  }

  // Snapshots.

  /// What snapshots are made of.
  [[nodiscard]] virtual engine::SnapshotScope some_scope() { return {"docs", std::nullopt}; }
  [[nodiscard]] virtual bool has(const engine::SnapshotScope&, std::uint64_t) { return true; }
  /// The node that has all that is acknowledged of it; nullptr: none now.
  [[nodiscard]] virtual TestNode* snapshots_by(const engine::SnapshotScope&) {
    return changes_by();
  }

  /// A snapshot is made, or the last one restored through any node.
  void snapshot_something() {
    if (!snapshot_) return make_snapshot();
    TestNode& node = *nodes_[random_() % nodes_.size()];
    if (!node.runs()) return;
    const Snapshot snapshot = *std::exchange(snapshot_, std::nullopt);
    const auto restored = restore(node, snapshot);
    n_restored_ += restored ? 1 : 0;
    for (auto& [id, possible] : possible_) {
      if (!has(snapshot.scope, id)) continue;
      const auto before = snapshot.possible.find(id);
      const auto then =
          before == snapshot.possible.end() ? std::set<std::string>{""} : before->second;
      if (restored) possible.clear();
      possible.insert(then.begin(), then.end());
    }
  }

  /// One thing breaks; what was broken before is mended.
  void break_something() {
    mend();
    TestNode& node = *nodes_[random_() % nodes_.size()];
    switch (random_() % 5) {
      case 0:
        node.end();
        break;
      case 1:
        node.set_cut_off(true);
        break;
      case 2:
        node.ledger().set_reachable(false);
        break;
      case 3:
        node.ledger().set_faults([random = std::make_shared<std::mt19937_64>(random_())](
                                     LedgerCall call) -> LedgerFault {
          if (call != LedgerCall::kTransact || (*random)() % 2 == 0) return {};
          return {(*random)() % 2 == 0 ? LedgerFault::What::kAnswerLost
                                       : LedgerFault::What::kNotKnown};
        });
        break;
      default:
        for (const auto& all : nodes_) all->end();
        for (const auto& all : nodes_) all->start();
    }
  }

  void mend() {
    for (const auto& node : nodes_) {
      node->ledger().set_faults({});
      node->set_cut_off(false);
      if (!node->runs()) node->start();
    }
  }

  void check_all_nodes() {
    mend();
    ASSERT_TRUE(comes_true([&] {
      TestNode* by = changes_by();
      return by != nullptr && change(*by, point(1000, "last")).has_value();
    }));
    const auto expected = contents();
    ASSERT_TRUE(expected);
    for (const auto& [id, possible] : possible_) {
      const auto found = expected->find(id);
      const std::string value = found == expected->end() ? "" : found->second;
      EXPECT_TRUE(possible.contains(value)) << "point " << id << " has " << value;
    }
    for (const auto& node : nodes_) {
      EXPECT_TRUE(comes_true(
          [&] { return !must_have_all(*node) || points(node->database(), "docs") == *expected; }));
    }
  }

  using Points = std::map<std::uint64_t, std::string>;

  /// What is acknowledged, all nodes running; nullopt: it cannot be had.
  [[nodiscard]] virtual std::optional<Points> contents() {
    if (!comes_true([&] { return changes_by() != nullptr; })) return std::nullopt;
    return points(changes_by()->database(), "docs");
  }
  [[nodiscard]] virtual bool must_have_all(TestNode&) { return true; }

  std::mt19937_64 random_{[] {
    const char* seed = std::getenv("QUIVER_CLUSTER_SEED");
    return seed == nullptr ? 20261125 : std::strtoull(seed, nullptr, 10);
  }()};
  Possible possible_;
  struct Snapshot {
    engine::SnapshotScope scope;
    std::string archive;
    Possible possible;
  };
  std::optional<Snapshot> snapshot_;
  std::uint64_t n_restored_ = 0;
  std::uint64_t n_changes_ = 0;
  std::uint64_t n_acknowledged_ = 0;

 private:
  void make_snapshot() {
    const auto scope = some_scope();
    TestNode* by = snapshots_by(scope);
    if (by == nullptr) return;
    auto& snapshots = *by->database().snapshots();
    const auto made = snapshots.create(scope);
    if (!made) return;
    const auto reader = snapshots.open(scope, made->name);
    if (!reader) return;
    std::string archive((*reader)->size_bytes(), '\0');
    if ((*reader)->read(0, archive)) snapshot_ = {scope, std::move(archive), possible_};
    (void)snapshots.remove(scope, made->name);
  }

  [[nodiscard]] static Result<> restore(TestNode& node, const Snapshot& snapshot) {
    QV_TRY(const auto receiver, node.database().snapshots()->receive(snapshot.scope, ""));
    QV_TRY(receiver->write(snapshot.archive));
    return receiver->finish();
  }
};

int n_rounds(int usual) {
  const char* wanted = std::getenv("QUIVER_CLUSTER_ROUNDS");
  return wanted == nullptr ? usual : std::atoi(wanted);
}

TEST_F(ClusterModel, WhatIsAcknowledgedStaysUnderFaults) {
  TestNode::keep_entries = 20;  // so that the log is trimmed, too
  ASSERT_TRUE(leader()->database().create_collection("docs", config()));
  constexpr int kStepOfSnapshot = 20;
  const int n = n_rounds(6);
  for (int round = 0; round < n && !HasFailure(); ++round) {
    for (int i = 0; i < 60; ++i) change_something();
    if (random_() % 2 == 0) snapshot_something();
    break_something();
    for (int i = 0; i < 60; ++i) {
      change_something();
      if (i == kStepOfSnapshot) snapshot_something();
      if (leader() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    check_all_nodes();
  }
  EXPECT_GT(n_acknowledged_, n_changes_ / 4);
  EXPECT_GT(n_restored_, 0U);
  TestNode::keep_entries = 10'000;
}

/// The collection is on some nodes only, moves at random, and is restored from snapshots; one fault
/// hits a move or a restore as any change.
class PlacementModel : public ClusterModel, public ::testing::WithParamInterface<int> {
 protected:
  TestNode* changes_by() override { return leader_of("docs"); }
  bool must_have_all(TestNode& node) override {
    const auto holders = node.node().holders("docs");
    return holders && holders->is_here;
  }

  /// A change of the nodes that hold `placement`.
  [[nodiscard]] ReplicaChange some_change(const PlacementView& placement) {
    using Kind = ReplicaChange::Kind;
    constexpr Kind kKinds[] = {Kind::kMove, Kind::kMove, Kind::kReplicate, Kind::kDrop,
                               Kind::kAbort};
    ReplicaChange change;
    change.kind = kKinds[random_() % std::size(kKinds)];
    change.from = placement.replicas[random_() % placement.replicas.size()].id;
    change.to = change.kind == Kind::kAbort ? 0 : ids_[random_() % ids_.size()];
    const auto is_held = [&](NodeId id) {
      return std::ranges::any_of(placement.replicas, [&](const auto& r) { return r.id == id; });
    };
    const bool is_valid = change.kind != Kind::kMove || !is_held(change.to);
    // Some are refused, as nodes have it already.
    if (!is_valid && random_() % 4 != 0) {
      const auto other = std::ranges::find_if_not(ids_, is_held);
      if (other != ids_.end()) change.to = *other;
    }
    return change;
  }
  virtual void move_something() {
    TestNode* leads = leader_of("docs");
    if (leads == nullptr) return;
    const auto placement = leads->node().placement("docs");
    if (!placement) return;
    n_moves_ += leads->node().change_replicas("docs", some_change(*placement)) ? 1 : 0;
  }
  [[nodiscard]] virtual bool is_led() { return leader_of("docs") != nullptr; }

  /// `n_patient`: changes that may fail while something is broken; each waits long where too few
  /// nodes are left.
  void run(int n, int n_patient) {
    TestNode::keep_entries = 20;  // so that copies are sent, too
    for (int round = 0; round < n && !HasFailure(); ++round) {
      for (int i = 0; i < 60; ++i) {
        if (i % 20 == 0) move_something();
        if (i % 20 == 10) snapshot_something();
        change_something();
      }
      break_something();
      int n_failed = 0;
      for (int i = 0; i < 60 && n_failed < n_patient; ++i) {
        if (i % 20 == 0) move_something();
        if (i % 30 == 10) snapshot_something();
        const auto n_before = n_acknowledged_;
        change_something();
        n_failed += n_acknowledged_ == n_before ? 1 : 0;
        if (!is_led()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      check_all_nodes();
    }
    TestNode::keep_entries = 10'000;
    EXPECT_GT(n_acknowledged_, 50U);
    EXPECT_GT(n_moves_, 0U);
    EXPECT_GT(n_restored_, 0U);
    std::printf("%d rounds: %d changes of %d acknowledged, %d moves begun, %d restores\n", n,
                static_cast<int>(n_acknowledged_), static_cast<int>(n_changes_),
                static_cast<int>(n_moves_), static_cast<int>(n_restored_));
  }
  void remember_ids() {
    for (const auto& node : nodes_) ids_.push_back(node->node().view().self);
  }

  std::vector<NodeId> ids_;
  std::uint64_t n_moves_ = 0;
};

TEST_P(PlacementModel, WhatIsAcknowledgedStaysWhileTheCollectionMoves) {
  remember_ids();
  ASSERT_TRUE(leader()->database().create_collection("docs", placed_config(GetParam())));
  ASSERT_TRUE(comes_true([&] { return leader_of("docs") != nullptr; }));
  run(n_rounds(3), 10);
}

INSTANTIATE_TEST_SUITE_P(Factors, PlacementModel, ::testing::Values(1, 2));

/// Each shard has nodes of its own, moves alone and is restored alone; any node takes changes.
class SpreadModel : public PlacementModel {
 protected:
  static constexpr std::uint32_t kShards = 3;

  TestNode* changes_by() override {
    TestNode& node = *nodes_[random_() % nodes_.size()];
    return node.runs() ? &node : nullptr;
  }
  /// Its outcome is awaited, however long the node asks others: a later change comes after it.
  Result<> change(TestNode& by, engine::Operation operation) override {
    return update(by.database(), "docs", std::move(operation), std::chrono::seconds(20));
  }
  engine::SnapshotScope some_scope() override {
    return {"docs", static_cast<std::uint32_t>(random_() % kShards)};
  }
  bool has(const engine::SnapshotScope& scope, std::uint64_t id) override {
    return engine::shard_of(PointId::number(id), kShards) == *scope.shard;
  }
  TestNode* snapshots_by(const engine::SnapshotScope& scope) override {
    return leader_of(part_name("docs", *scope.shard));
  }
  void move_something() override {
    const auto part = part_name("docs", static_cast<std::uint32_t>(random_() % kShards));
    TestNode* leads = leader_of(part);
    if (leads == nullptr) return;
    const auto placement = leads->node().placement(part);
    if (!placement) return;
    n_moves_ += leads->node().change_part_replicas(part, some_change(*placement)) ? 1 : 0;
  }
  bool is_led() override {
    for (std::uint32_t i = 0; i < kShards; ++i) {
      if (leader_of(part_name("docs", i)) == nullptr) return false;
    }
    return true;
  }
  std::optional<Points> contents() override {
    TestNode& node = *nodes_[random_() % nodes_.size()];
    const bool is_fresh = comes_true([&] {
      return is_led() && node.node()
                             .wait_until_fresh("docs", std::chrono::steady_clock::now() +
                                                           patience(std::chrono::seconds(1)))
                             .has_value();
    });
    if (!is_fresh) return std::nullopt;
    return points(node.database(), "docs");
  }
};

TEST_P(SpreadModel, WhatIsAcknowledgedStaysWhileShardsMove) {
  remember_ids();
  ASSERT_TRUE(leader()->database().create_collection("docs", spread_config(GetParam(), kShards)));
  ASSERT_TRUE(comes_true([&] { return is_led(); }));
  run(n_rounds(3), 3);
}

INSTANTIATE_TEST_SUITE_P(Factors, SpreadModel, ::testing::Values(1, 2));

}  // namespace
}  // namespace quiver::cluster
