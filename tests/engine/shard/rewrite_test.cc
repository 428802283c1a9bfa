#include "engine/shard/rewrite.h"

#include <gtest/gtest.h>

#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

class RewritesTest : public ShardRig {};

TEST_F(RewritesTest, SegmentsWithManyDeadRowsAreRewritten) {
  config_->optimizer.seal_rows = 20;
  config_->optimizer.vacuum_min_rows = 5;
  open();
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < 20; ++id) ids.push_back(id);
  ASSERT_TRUE(send(put_request(ids)));
  ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == 1; }));
  for (std::uint64_t id = 0; id < 5; ++id) ASSERT_TRUE(send(delete_request(id)));
  EXPECT_TRUE(comes_true([&] { return n_done(JobKind::kVacuum) == 1; }));
  EXPECT_EQ(shard_->snapshot()->n_live(), 15U);
  EXPECT_EQ(shard_->snapshot()->segments.front().n_rows(), 15U);
  EXPECT_TRUE(comes_true([&] { return n_segment_directories() == 1; }));
}

TEST_F(RewritesTest, ASegmentWithoutLiveRowsVanishes) {
  config_->optimizer.seal_rows = 2;
  open();
  ASSERT_TRUE(send(put_request({1, 2})));
  ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == 1; }));
  ASSERT_TRUE(send(delete_request(1)));
  ASSERT_TRUE(send(delete_request(2)));
  EXPECT_TRUE(comes_true([&] { return n_done(JobKind::kVacuum) == 1; }));
  EXPECT_TRUE(shard_->snapshot()->segments.empty());
  EXPECT_TRUE(comes_true([&] { return n_segment_directories() == 0; }));
  open();
  EXPECT_EQ(shard_->snapshot()->n_live(), 0U);
}

TEST_F(RewritesTest, WritesDuringSealsHoldInTheirOutputs) {
  config_->optimizer.seal_rows = 5;
  open();
  for (std::uint64_t round = 0; round < 20; ++round) {
    ASSERT_TRUE(send(put_request({0, 1, 2, 3, 4, 5, 6, 7})));
  }
  ASSERT_TRUE(comes_true([&] { return !shard_->status().optimizing; }));
  EXPECT_EQ(shard_->snapshot()->n_live(), 8U);
  const auto before = shard_->snapshot()->seq;
  open();
  EXPECT_EQ(shard_->snapshot()->n_live(), 8U);
  EXPECT_EQ(shard_->snapshot()->seq, before);
}

}  // namespace
}  // namespace quiver::engine::testing
