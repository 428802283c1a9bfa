// Nodes with collections that are on some of them only.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cluster/records.h"
#include "tests/cluster/cluster_rig.h"

namespace quiver::cluster {

class PlacementRig : public ClusterRig {
 protected:
  void make(const std::string& name, int factor, std::uint32_t n_shards = 2) {
    const auto made = leader()->database().create_collection(name, placed_config(factor, n_shards));
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(comes_true([&] { return leader_of(name) != nullptr; }));
  }
  void write(const std::string& name, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t id = from; id < to; ++id) {
      ASSERT_TRUE(comes_true([&] { return update_anywhere(name, point(id, "a")).has_value(); }));
    }
  }
  /// The nodes that answer reads of the collection.
  std::vector<TestNode*> holders(const std::string& name) {
    std::vector<TestNode*> found;
    for (const auto& node : nodes_) {
      if (!node->runs()) continue;
      const auto holders = node->node().holders(name);
      if (holders && holders->is_here) found.push_back(node.get());
    }
    return found;
  }
  /// Another cluster, of `n` nodes.
  void begin_anew(int n) {
    for (const auto& node : nodes_) node->end();
    nodes_.clear();
    store_ = std::make_shared<MemoryLedgerStore>();
    for (int i = 0; i < n; ++i) {
      nodes_.push_back(std::make_unique<TestNode>(store_, network_, folder_.path() / "anew", i));
      nodes_.back()->n_nodes = static_cast<std::uint32_t>(n);
      nodes_.back()->start();
    }
    ASSERT_TRUE(comes_true([&] { return leader() != nullptr && n_active() == n; }));
  }
  TestNode* other_than(const std::vector<TestNode*>& some) {
    for (const auto& node : nodes_) {
      if (std::ranges::find(some, node.get()) == some.end()) return node.get();
    }
    return nullptr;
  }
  static NodeId id_of(TestNode& node) { return node.node().view().self; }
  Result<> change(const std::string& name, ReplicaChange::Kind kind, NodeId from, NodeId to) {
    TestNode* leads = leader_of(name);
    if (leads == nullptr) return fail(Code::kUnavailable, "nobody leads");
    return leads->node().change_replicas(name, {kind, from, to});
  }
  /// What the ledger says now.
  ClusterState state() {
    const Keys keys("quiver");
    auto parsed = parse_state(keys, *store_->range({keys.state(), prefix_end(keys.state())}));
    EXPECT_TRUE(parsed) << parsed.error().message();
    return *std::move(parsed);
  }
  GroupState group(const std::string& name) {
    const auto now = state();
    return now.group_of(now.collections.at(name).config.cluster_id);
  }
  /// True if exactly these answer reads.
  bool are_holders(const std::string& name, std::vector<TestNode*> wanted) {
    auto found = holders(name);
    std::ranges::sort(found);
    std::ranges::sort(wanted);
    const auto placement = nodes_.front()->runs() ? nodes_.front()->node().placement(name)
                                                  : nodes_.back()->node().placement(name);
    return found == wanted && placement && placement->replicas.size() == wanted.size();
  }
};

}  // namespace quiver::cluster
