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

std::uint64_t bytes_of_segments(const std::filesystem::path& root) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "segments")) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

TEST_F(RewritesTest, VectorsOfADroppedFieldLeaveTheDisk) {
  config_->fields.push_back(
      {"large", FieldKind::kDense, 512, DType::kF32, Metric::kDot, SparseModifier::kNone});
  config_->optimizer.seal_rows = 50;
  open();
  PreparedPoints points;
  for (std::uint64_t id = 0; id < 50; ++id) {
    Row row = dense_row(id, 0);
    row.vectors.push_back(to_stored(config_->fields[1], DenseVector(512, 1.0F)).value());
    points.rows.push_back(std::move(row));
  }
  ShardRequest request;
  request.operations.emplace_back(std::move(points));
  ASSERT_TRUE(send(std::move(request)));
  ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == 1; }));
  EXPECT_GT(bytes_of_segments(root_), 50U * 512 * 4);
  config_ = std::make_shared<CollectionConfig>(*config_);
  drop_field(*config_, "large");
  set_config();
  ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kVacuum) == 1; }));
  ASSERT_TRUE(comes_true([&] { return n_segment_directories() == 1; }));
  EXPECT_LT(bytes_of_segments(root_), 30'000U);
  EXPECT_EQ(shard_->snapshot()->n_live(), 50U);
  open();
  ASSERT_TRUE(comes_true([&] { return !shard_->status().optimizing; }));
  EXPECT_EQ(n_done(JobKind::kVacuum), 0U) << "done once";
}

}  // namespace
}  // namespace quiver::engine::testing
