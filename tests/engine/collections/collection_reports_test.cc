#include "engine/collections/collection_reports.h"

#include <gtest/gtest.h>

#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

class CollectionReports : public ShardRig {
 protected:
  void SetUp() override {
    ShardRig::SetUp();
    config_->optimizer.seal_rows = 4;
    open();
    ASSERT_TRUE(send(put_request({1, 2, 3, 4, 5, 6})));
    ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == 1; }));
    ASSERT_TRUE(send(put_request({7})));
    shards_.push_back({std::move(shard_)});
  }
  void TearDown() override {
    shards_.clear();
    ShardRig::TearDown();
  }

  Shards shards_;
};

TEST_F(CollectionReports, InfoSumsUpTheShards) {
  const Snapshot snapshot({shards_[0].shard->snapshot()});
  const auto info = collection_info(shards_, snapshot, *config_, IndexPolicy());
  EXPECT_EQ(info.n_points, 7U);
  EXPECT_EQ(info.n_segments, 2U);
  EXPECT_EQ(info.n_indexed_vectors, 6U) << "too few to need an index";
  EXPECT_EQ(info.optimizer_error, "");
  EXPECT_NE(info.health, Health::kRed);
}

TEST_F(CollectionReports, ShardsAndSegments) {
  const auto shards = shard_infos(shards_, IndexPolicy());
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].last_seq, Seq{7});
  EXPECT_EQ(shards[0].work.n_done, 1U);
  ASSERT_EQ(shards[0].segments.size(), 2U);
  EXPECT_TRUE(shards[0].segments[0].sealed);
  EXPECT_FALSE(shards[0].segments[1].sealed);
  EXPECT_EQ(segment_index_infos(shards_).size(), 2U);
}

TEST_F(CollectionReports, TheMutableSegmentIsListedWhileItIsEmpty) {
  shards_.clear();
  shards_.push_back({Shard::open((root_ / "empty").string(), config_, context_, nullptr).value()});
  const auto segments = shard_infos(shards_, IndexPolicy()).front().segments;
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_FALSE(segments[0].sealed);
  EXPECT_EQ(segments[0].n_points, 0U);
  EXPECT_EQ(segments[0].fields.size(), config_->fields.size());
  const Snapshot snapshot({shards_[0].shard->snapshot()});
  EXPECT_EQ(collection_info(shards_, snapshot, *config_, IndexPolicy()).n_segments, 0U)
      << "searches have none";
}

TEST_F(CollectionReports, OptimizationsNameTheirKind) {
  const auto report = optimization_report(shards_, config_->optimizer, IndexPolicy());
  ASSERT_EQ(report.completed.size(), 1U);
  EXPECT_EQ(report.completed[0].kind, JobKind::kSeal);
  EXPECT_EQ(report.idle.size(), 2U);
  EXPECT_TRUE(report.queued.empty());
}

}  // namespace
}  // namespace quiver::engine::testing
