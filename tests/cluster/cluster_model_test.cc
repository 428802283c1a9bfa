// Random changes and faults; afterwards all nodes are equal, and hold what was acknowledged.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
    TestNode* leads = changes_by();
    if (leads == nullptr) return;
    const auto done = deletes ? update(leads->database(), "docs",
                                       engine::DeletePoints{std::vector{PointId::number(id)}, {}})
                              : update(leads->database(), "docs", point(id, value));
    if (done) {
      possible = {written};
      ++n_acknowledged_;
    } else {
      possible.insert(written);
    }
  }

  /// The node that takes changes; nullptr: none now.
  [[nodiscard]] virtual TestNode* changes_by() { return leader(); }

  /// A snapshot is made, or the last one restored where it is.
  void snapshot_something() {
    const engine::SnapshotScope docs{"docs", std::nullopt};
    TestNode* leads = leader();
    if (!snapshot_ && leads != nullptr) {
      const auto made = leads->database().snapshots()->create(docs);
      if (made) snapshot_ = Snapshot{leads, made->name, possible_};
      return;
    }
    if (!snapshot_ || !snapshot_->node->runs()) return;
    const Snapshot snapshot = *std::exchange(snapshot_, std::nullopt);
    const auto restored = snapshot.node->database().snapshots()->recover(docs, snapshot.name, "");
    n_restored_ += restored ? 1 : 0;
    for (auto& [id, possible] : possible_) {
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
      TestNode* leads = changes_by();
      return leads != nullptr && update(leads->database(), "docs", point(1000, "last")).has_value();
    }));
    ASSERT_TRUE(comes_true([&] { return changes_by() != nullptr; }));
    const auto expected = points(changes_by()->database(), "docs");
    for (const auto& [id, possible] : possible_) {
      const auto found = expected.find(id);
      const std::string value = found == expected.end() ? "" : found->second;
      EXPECT_TRUE(possible.contains(value)) << "point " << id << " has " << value;
    }
    for (const auto& node : nodes_) {
      EXPECT_TRUE(comes_true(
          [&] { return !must_have_all(*node) || points(node->database(), "docs") == expected; }));
    }
  }

  [[nodiscard]] virtual bool must_have_all(TestNode&) { return true; }

  std::mt19937_64 random_{[] {
    const char* seed = std::getenv("QUIVER_CLUSTER_SEED");
    return seed == nullptr ? 20261125 : std::strtoull(seed, nullptr, 10);
  }()};
  Possible possible_;
  struct Snapshot {
    TestNode* node;
    std::string name;
    Possible possible;
  };
  std::optional<Snapshot> snapshot_;
  std::uint64_t n_restored_ = 0;
  std::uint64_t n_changes_ = 0;
  std::uint64_t n_acknowledged_ = 0;
};

TEST_F(ClusterModel, WhatIsAcknowledgedStaysUnderFaults) {
  TestNode::keep_entries = 20;  // so that the log is trimmed, too
  const char* wanted = std::getenv("QUIVER_CLUSTER_ROUNDS");
  const int n_rounds = wanted == nullptr ? 8 : std::atoi(wanted);
  ASSERT_TRUE(leader()->database().create_collection("docs", config()));
  constexpr int kStepOfSnapshot = 20;
  for (int round = 0; round < n_rounds && !HasFailure(); ++round) {
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

/// The collection is on some nodes only, and moves at random; one fault hits a move as any change.
class PlacementModel : public ClusterModel, public ::testing::WithParamInterface<int> {
 protected:
  TestNode* changes_by() override { return leader_of("docs"); }
  bool must_have_all(TestNode& node) override {
    const auto holders = node.node().holders("docs");
    return holders && holders->is_here;
  }

  void move_something() {
    using Kind = ReplicaChange::Kind;
    constexpr Kind kKinds[] = {Kind::kMove, Kind::kMove, Kind::kReplicate, Kind::kDrop,
                               Kind::kAbort};
    TestNode* leads = leader_of("docs");
    if (leads == nullptr) return;
    const auto placement = leads->node().placement("docs");
    if (!placement) return;
    const auto& replicas = placement->replicas;
    ReplicaChange change;
    change.kind = kKinds[random_() % std::size(kKinds)];
    change.from = replicas[random_() % replicas.size()].id;
    change.to = change.kind == Kind::kAbort ? 0 : ids_[random_() % ids_.size()];
    n_moves_ += leads->node().change_replicas("docs", change) ? 1 : 0;
  }

  std::vector<NodeId> ids_;
  std::uint64_t n_moves_ = 0;
};

TEST_P(PlacementModel, WhatIsAcknowledgedStaysWhileTheCollectionMoves) {
  TestNode::keep_entries = 20;  // so that copies are sent, too
  const char* wanted = std::getenv("QUIVER_CLUSTER_ROUNDS");
  const int n_rounds = wanted == nullptr ? 5 : std::atoi(wanted);
  for (const auto& node : nodes_) ids_.push_back(node->node().view().self);
  ASSERT_TRUE(leader()->database().create_collection("docs", placed_config(GetParam())));
  ASSERT_TRUE(comes_true([&] { return leader_of("docs") != nullptr; }));
  for (int round = 0; round < n_rounds && !HasFailure(); ++round) {
    for (int i = 0; i < 60; ++i) {
      if (i % 20 == 0) move_something();
      change_something();
    }
    break_something();
    int n_failed = 0;  // each waits long where too few nodes are left
    for (int i = 0; i < 60 && n_failed < 10; ++i) {
      if (i % 20 == 0) move_something();
      const auto n_before = n_acknowledged_;
      change_something();
      n_failed += n_acknowledged_ == n_before ? 1 : 0;
      if (leader_of("docs") == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    check_all_nodes();
  }
  EXPECT_GT(n_acknowledged_, 50U);
  EXPECT_GT(n_moves_, 0U);
  TestNode::keep_entries = 10'000;
}

INSTANTIATE_TEST_SUITE_P(Factors, PlacementModel, ::testing::Values(1, 2));

}  // namespace
}  // namespace quiver::cluster
