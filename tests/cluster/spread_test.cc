// Collections whose shards have nodes of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cluster/messages.h"
#include "cluster/records.h"
#include "engine/snapshots.h"
#include "tests/cluster/placement_rig.h"

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ReplicaChange::Kind;

class SpreadClusterTest : public PlacementRig {
 protected:
  /// `docs`, each of whose shards is on `factor` nodes.
  void spread(int factor, std::uint32_t n_shards) {
    const auto made =
        leader()->database().create_collection("docs", spread_config(factor, n_shards));
    ASSERT_TRUE(made) << made.error().message();
    for (std::uint32_t i = 0; i < n_shards; ++i) {
      ASSERT_TRUE(comes_true([&] { return leader_of(part_name("docs", i)) != nullptr; }));
    }
    for (const auto& node : nodes_) {
      ASSERT_TRUE(comes_true([&] { return node->database().exists("docs"); }));
    }
  }
  /// Through the nodes in turn.
  void write_points(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t id = from; id < to; ++id) {
      TestNode& node = *nodes_[id % nodes_.size()];
      if (!node.runs()) continue;
      ASSERT_TRUE(comes_true([&] {
        const auto written = update(node.database(), "docs", point(id, "a"));
        last_error_ = written ? "" : written.error().message();
        return written.has_value();
      })) << last_error_;
    }
  }
  std::vector<std::uint64_t> nearest(TestNode& node, std::uint64_t limit) {
    engine::Query query;
    query.kind = engine::Nearest{engine::VectorValue(std::vector<float>{0, 1})};
    query.limit = limit;
    const auto collection = node.database().collection("docs");
    EXPECT_TRUE(collection) << collection.error().message();
    const auto found = (*collection)->query(query, Cancel());
    EXPECT_TRUE(found) << found.error().message();
    std::vector<std::uint64_t> ids;
    if (!found) return ids;
    for (const auto& record : *found) ids.push_back(record.id.low());
    return ids;
  }

  std::string last_error_;
};

TEST_F(SpreadClusterTest, EveryNodeAnswersForAllShards) {
  spread(1, 3);
  std::set<TestNode*> used;
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(holders(part_name("docs", i)).size(), 1U);
    used.insert(holders(part_name("docs", i))[0]);
  }
  EXPECT_EQ(used.size(), 3U);
  write_points(0, 60);
  for (const auto& node : nodes_) {
    EXPECT_THAT(node->database().collection_names(), ElementsAre("docs"));
    EXPECT_EQ(points(node->database(), "docs").size(), 60U);
    EXPECT_THAT(nearest(*node, 3), ElementsAre(59, 58, 57));
    const auto info = (*node->database().collection("docs"))->info();
    EXPECT_EQ(info.n_points, 60U);
    EXPECT_EQ(info.config.shard_number, 3U);
    EXPECT_FALSE(node->database().exists("docs/0"));
    std::size_t n_here = 0;
    for (std::uint32_t i = 0; i < 3; ++i) {
      n_here += points(node->local(), part_name("docs", i)).size();
    }
    EXPECT_GT(n_here, 0U);
    EXPECT_LT(n_here, 60U);
    EXPECT_TRUE(node->node().wait_until_fresh(
        "docs", std::chrono::steady_clock::now() + patience(std::chrono::seconds(1))));
  }
}

TEST_F(SpreadClusterTest, ReadsAvoidASlowReplica) {
  spread(2, 3);
  write_points(0, 30);
  TestNode& asker = *nodes_[0];
  // It lacks one shard, which both others have.
  const auto n_asked = [&](const TestNode& node) {
    return network_.n_sent(asker.peer(), node.peer(), kPartCallVerb);
  };
  const int before = n_asked(*nodes_[1]);
  EXPECT_EQ(nearest(asker, 3).size(), 3U);
  TestNode& slow = n_asked(*nodes_[1]) > before ? *nodes_[1] : *nodes_[2];
  network_.set_slow(slow.peer(), milliseconds(400));
  const int calm = n_asked(slow);
  for (int i = 0; i < 40; ++i) EXPECT_THAT(nearest(asker, 3), ElementsAre(29, 28, 27));
  EXPECT_LE(n_asked(slow), calm + 8);
  network_.set_slow(slow.peer(), milliseconds(0));
}

/// The node that answers need not be the one that was asked before.
TEST_F(SpreadClusterTest, FreshReadsShowWhatWasAcknowledgedWhicheverNodeAnswers) {
  spread(2, 3);
  write_points(0, 30);
  // Nobody tells another node what is committed: each finds out when it looks at the ledger.
  network_.set_filter([](const std::string&, const std::string&, std::string_view verb) {
    return verb == kApplyCommitted;
  });
  std::uint64_t n_points = 30;
  for (int round = 0; round < 12; ++round) {
    TestNode& asker = *nodes_[round % nodes_.size()];
    for (const auto& node : nodes_) {
      const bool is_slow = round / 3 % 2 == 0 ? node == nodes_[1] : node == nodes_[2];
      network_.set_slow(node->peer(), milliseconds(is_slow ? 40 : 0));
    }
    write_points(n_points, n_points + 5);
    n_points += 5;
    ASSERT_TRUE(asker.node().wait_until_fresh("docs", patience_end(std::chrono::seconds(1))));
    EXPECT_EQ(points(asker.database(), "docs").size(), n_points);
    EXPECT_EQ(nearest(asker, 1), std::vector{n_points - 1});
  }
  for (const auto& node : nodes_) network_.set_slow(node->peer(), milliseconds(0));
  network_.set_filter({});
}

TEST_F(SpreadClusterTest, TheCatalogKnowsItByOneName) {
  spread(1, 2);
  auto& catalog = leader()->database();
  for (const auto& config : {spread_config(1, 2), placed_config(1), config()}) {
    const auto again = catalog.create_collection("docs", config);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), Code::kAlreadyExists);
  }
  ASSERT_TRUE(catalog.update_aliases({engine::CreateAlias{"docs", "first"}}));
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return node->database().exists("first"); }));
    EXPECT_TRUE(comes_true([&] { return node->database().aliases().size() == 1; }));
    EXPECT_TRUE(update(node->database(), "first", point(1, "b")));
    EXPECT_EQ(points(node->database(), "first").size(), 1U);
  }
  EXPECT_FALSE(catalog.create_collection("first", spread_config(1, 2)));
  EXPECT_FALSE(catalog.update_aliases({engine::CreateAlias{"docs", "docs"}}));
  EXPECT_FALSE(catalog.update_aliases({engine::CreateAlias{"docs/0", "part"}}));
  EXPECT_FALSE(catalog.collection("docs/0"));
  EXPECT_FALSE(*catalog.drop_collection("docs/0"));
  EXPECT_EQ(*catalog.collection("docs"), *catalog.collection("first"));
  EXPECT_EQ(catalog.collection_if_open("docs"), *catalog.collection("docs"));
  const auto dropped = catalog.drop_collection("docs");
  ASSERT_TRUE(dropped && *dropped);
  const Keys keys("quiver");
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return !node->database().exists("docs"); }));
    EXPECT_TRUE(comes_true([&] { return !node->database().exists("first"); }));
    EXPECT_TRUE(comes_true([&] { return node->local().collection_names().empty(); }));
  }
  EXPECT_FALSE(*catalog.drop_collection("docs"));
  // A name is free at once for a collection of another kind.
  for (int i = 0; i < 4; ++i) {
    const auto made =
        catalog.create_collection("docs", i % 2 == 0 ? config() : spread_config(1, 2));
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(*catalog.drop_collection("docs"));
    EXPECT_FALSE(catalog.exists("docs"));
  }
  spread(2, 2);
  write_points(0, 10);
}

TEST_F(SpreadClusterTest, ShardsFollowTheFirstOneInTheirConfiguration) {
  spread(1, 3);
  TestNode* node = nodes_[1].get();
  payload::FieldIndex index;
  index.key = "value";
  const auto collection = node->database().collection("docs");
  ASSERT_TRUE((*collection)->create_index(index, engine::Ack::kVisible));
  const FieldSchema more{"more", FieldKind::kDense, 3, DType::kF32, Metric::kDot, {}};
  const auto add = [&](engine::CollectionConfig& config) {
    return engine::add_field(config, more);
  };
  const auto added = node->database().update_config("docs", add);
  ASSERT_TRUE(added) << added.error().message();
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto own = state().collections.at(part_name("docs", i)).config;
    EXPECT_NE(own.find_field("more"), nullptr);
    EXPECT_EQ(own.indexes.size(), 1U);
    EXPECT_EQ(own.shard_number, 1U);
  }
  // One that missed a change follows later.
  const auto drop = [](engine::CollectionConfig& config) -> Result<> {
    engine::drop_field(config, "more");
    return {};
  };
  TestNode* leads = leader_of(part_name("docs", 0));
  ASSERT_TRUE(leads->local().update_config(part_name("docs", 0), drop));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(comes_true([&] {
      return state().collections.at(part_name("docs", i)).config.find_field("more") == nullptr;
    }));
  }
  const auto limited =
      node->database().update_config("docs", [](engine::CollectionConfig& config) -> Result<> {
        config.tenant_quota = engine::TenantQuota{"value", 5};
        return {};
      });
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().code(), Code::kUnimplemented);
  const auto refused = node->database().update_config(
      "docs", [](engine::CollectionConfig&) { return fail(Code::kInvalidArgument, "no"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
}

TEST_F(SpreadClusterTest, AShardWithAnotherNodeSurvivesTheDeathOfOne) {
  spread(2, 3);
  write_points(0, 30);
  TestNode* gone = nodes_[0].get();
  gone->end();
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(comes_true([&] { return !holders(part_name("docs", i)).empty(); }));
  }
  for (const auto& node : nodes_) {
    if (!node->runs()) continue;
    EXPECT_EQ(points(node->database(), "docs").size(), 30U);
    EXPECT_THAT(nearest(*node, 2), ElementsAre(29, 28));
  }
  gone->start();
  write_points(30, 40);
  EXPECT_TRUE(comes_true([&] { return points(gone->database(), "docs").size() == 40; }));
}

TEST_F(SpreadClusterTest, AShardWithoutANodeIsMissedAndNeverLeftOut) {
  spread(1, 3);
  write_points(0, 30);
  TestNode* gone = holders(part_name("docs", 1))[0];
  gone->end();
  TestNode* other = nodes_[0].get() == gone ? nodes_[1].get() : nodes_[0].get();
  const auto collection = other->database().collection("docs");
  ASSERT_TRUE(collection);
  const auto refused = (*collection)->count({}, Cancel(Deadline::after(milliseconds(200))));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("shard docs/1"));
  EXPECT_EQ((*collection)->info().health, engine::Health::kRed);
  gone->start();
  EXPECT_TRUE(comes_true([&] { return (*collection)->count({}, Cancel()).value_or(0) == 30; }));
}

TEST_F(SpreadClusterTest, AShardMovesWhileItIsWrittenAndRead) {
  spread(1, 2);
  write_points(0, 40);
  const auto part = part_name("docs", 0);
  TestNode* source = holders(part)[0];
  TestNode* target = nullptr;
  for (const auto& node : nodes_) {
    if (node.get() != source && target == nullptr) target = node.get();
  }
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> next = 40, n_reads = 0, n_wrong = 0;
  std::thread writer([&] {
    while (!stop) {
      if (update(nodes_[next % 3]->database(), "docs", point(next, "a"))) ++next;
    }
  });
  std::thread reader([&] {
    while (!stop) {
      const std::uint64_t n_least = next;
      const auto n = (*nodes_[n_reads++ % 3]->database().collection("docs"))->count({}, Cancel());
      if (!n || *n < n_least) ++n_wrong;
    }
  });
  const auto begun =
      nodes_[1]->node().change_part_replicas(part, {Kind::kMove, id_of(*source), id_of(*target)});
  EXPECT_TRUE(begun) << begun.error().message();
  EXPECT_TRUE(comes_true([&] { return are_holders(part, {target}); }));
  std::this_thread::sleep_for(milliseconds(200));
  stop = true;
  writer.join();
  reader.join();
  EXPECT_EQ(n_wrong, 0U);
  EXPECT_GT(n_reads, 0U);
  for (const auto& node : nodes_) {
    EXPECT_EQ(points(node->database(), "docs").size(), next.load());
    const auto placements = node->node().part_placements("docs");
    ASSERT_EQ(placements.size(), 2U);
    EXPECT_EQ(placements[0].name, part);
  }
}

TEST_F(SpreadClusterTest, AllNodesComeBack) {
  spread(2, 3);
  write_points(0, 20);
  for (const auto& node : nodes_) node->end();
  for (const auto& node : nodes_) node->start();
  ASSERT_TRUE(comes_true([&] { return leader() != nullptr && leader_of("docs/0") != nullptr; }));
  write_points(20, 40);
  for (const auto& node : nodes_) EXPECT_EQ(points(node->database(), "docs").size(), 40U);
}

TEST_F(SpreadClusterTest, NoSnapshotTakesItsPlace) {
  spread(1, 2);
  auto* snapshots = nodes_[0]->database().snapshots();
  ASSERT_NE(snapshots, nullptr);
  const auto refused = snapshots->receive({"docs", {}}, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnimplemented);
  EXPECT_FALSE(snapshots->create({"docs", {}}));
}

/// Snapshots of the shards of `docs`.
class SpreadSnapshotTest : public SpreadClusterTest {
 protected:
  static engine::SnapshotScope shard_of(std::uint32_t shard) { return {"docs", shard}; }
  /// An archive of each shard, made where it is.
  void take_archives(std::uint32_t n_shards) {
    archives_.clear();
    for (std::uint32_t i = 0; i < n_shards; ++i) {
      auto& snapshots = *holders(part_name("docs", i)).front()->database().snapshots();
      const auto made = snapshots.create(shard_of(i));
      ASSERT_TRUE(made) << made.error().message();
      const auto listed = snapshots.list(shard_of(i));
      ASSERT_TRUE(listed) << listed.error().message();
      EXPECT_EQ(listed->back().name, made->name);
      EXPECT_THAT(made->name, ::testing::StartsWith("docs-shard-" + std::to_string(i) + "-"));
      const auto reader = snapshots.open(shard_of(i), made->name);
      ASSERT_TRUE(reader) << reader.error().message();
      archives_.emplace_back((*reader)->size_bytes(), '\0');
      ASSERT_TRUE((*reader)->read(0, archives_.back()));
    }
  }
  static Result<> restore(TestNode& node, const engine::SnapshotScope& scope,
                          const std::string& archive) {
    QV_TRY(const auto receiver, node.database().snapshots()->receive(scope, ""));
    QV_TRY(receiver->write(archive));
    return receiver->finish();
  }
  bool all_have(const std::map<std::uint64_t, std::string>& wanted) {
    return comes_true([&] {
      return std::ranges::all_of(
          nodes_, [&](const auto& node) { return points(node->database(), "docs") == wanted; });
    });
  }

  std::vector<std::string> archives_;
};

TEST_F(SpreadSnapshotTest, EachShardIsRestoredThroughAnyNode) {
  spread(2, 3);
  write_points(0, 30);
  const auto before = points(nodes_[0]->database(), "docs");
  ASSERT_EQ(before.size(), 30U);
  take_archives(3);
  write_points(20, 60);
  payload::FieldIndex index;
  index.key = "value";
  ASSERT_TRUE(
      (*nodes_[1]->database().collection("docs"))->create_index(index, engine::Ack::kVisible));
  const auto config = *(*nodes_[0]->database().collection("docs"))->config();
  ASSERT_EQ(config.indexes.size(), 1U);
  EXPECT_FALSE(config.part);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto restored = restore(*nodes_[i], shard_of(i), archives_[i]);
    ASSERT_TRUE(restored) << restored.error().message();
  }
  EXPECT_TRUE(all_have(before));
  for (const auto& node : nodes_) {
    ASSERT_TRUE(comes_true([&] {
      return (*node->database().collection("docs"))->config()->indexes == config.indexes;
    })) << "what was configured later stays";
  }
  write_points(100, 110);
  for (const auto& node : nodes_) EXPECT_EQ(points(node->database(), "docs").size(), 40U);
}

TEST_F(SpreadSnapshotTest, OneIsRestoredOnlyWhereItWas) {
  spread(1, 3);
  write_points(0, 30);
  const auto before = points(nodes_[0]->database(), "docs");
  take_archives(3);
  const auto other = restore(*nodes_[0], shard_of(1), archives_[2]);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(other.error().message(), HasSubstr("it is of shard 2 of 3, and not of shard 1 of 3"));
  const auto missing = restore(*nodes_[0], shard_of(3), archives_[0]);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  const auto whole = restore(*nodes_[0], {"docs", std::nullopt}, archives_[0]);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code(), Code::kUnimplemented);
  EXPECT_THAT(whole.error().message(), HasSubstr("/collections/docs/shards/N/snapshots"));
  for (const auto& node : nodes_) {
    const auto holds = holders(part_name("docs", 0)).front() == node.get();
    EXPECT_EQ(node->database().snapshots()->list(shard_of(0)).has_value(), holds);
  }
  EXPECT_TRUE(all_have(before));
  ASSERT_TRUE(leader()->database().drop_collection("docs"));
  spread(1, 2);
  const auto fewer = restore(*nodes_[0], shard_of(0), archives_[0]);
  ASSERT_FALSE(fewer);
  EXPECT_THAT(fewer.error().message(), HasSubstr("it is of shard 0 of 3, and not of shard 0 of 2"));
  EXPECT_TRUE(all_have({}));
}

TEST_F(SpreadSnapshotTest, AShardUnderANameOfItsOwnIsACollection) {
  spread(1, 2);
  write_points(0, 20);
  take_archives(2);
  const auto restored = restore(*nodes_[2], {"half", std::nullopt}, archives_[1]);
  ASSERT_TRUE(restored) << restored.error().message();
  for (const auto& node : nodes_) {
    ASSERT_TRUE(comes_true([&] { return node->database().exists("half"); }));
  }
  EXPECT_FALSE(state().collections.at("half").config.part);
  const auto again = restore(*nodes_[0], {"half", std::nullopt}, archives_[0]);
  ASSERT_TRUE(again) << again.error().message();
  ASSERT_TRUE(comes_true([&] { return update_anywhere("half", point(1000, "a")).has_value(); }));
}

}  // namespace
}  // namespace quiver::cluster
