#include "engine/shard/maintenance.h"

#include <gtest/gtest.h>

#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

class MaintenanceTest : public ShardRig {
 protected:
  void put_range(std::uint64_t first, std::uint64_t n) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < n; ++i) ids.push_back(first + i);
    ASSERT_TRUE(send(put_request(ids)));
  }
  [[nodiscard]] bool rests() {
    return comes_true([&] {
      shard_->tick();
      return !shard_->status().optimizing;
    });
  }
};

TEST_F(MaintenanceTest, FullSegmentsAreSealed) {
  config_->optimizer.seal_rows = 10;
  open();
  put_range(0, 10);
  EXPECT_TRUE(comes_true([&] { return n_sealed() == 1; }));
  EXPECT_TRUE(rests());
  EXPECT_EQ(n_done(JobKind::kSeal), 1U);
  EXPECT_EQ(shard_->status().n_sealed_rows, 10U);
}

TEST_F(MaintenanceTest, SmallSegmentsStayInMemoryWhenIdle) {
  config_->optimizer.idle_seal_s = 0;
  open();
  put_range(0, 999);
  EXPECT_TRUE(rests());
  EXPECT_EQ(n_sealed(), 0U);
  put_range(999, 1);
  EXPECT_TRUE(comes_true([&] {
    shard_->tick();
    return n_sealed() == 1;
  }));
}

TEST_F(MaintenanceTest, TiersAreMergedAndInputsRemoved) {
  config_->optimizer.seal_rows = 10;
  open();
  for (std::uint64_t i = 0; i < 4; ++i) {
    put_range(10 * i, 10);
    EXPECT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == i + 1; }));
  }
  EXPECT_TRUE(comes_true([&] { return n_done(JobKind::kMerge) == 1; }));
  EXPECT_EQ(n_sealed(), 1U);
  EXPECT_TRUE(comes_true([&] { return n_segment_directories() == 1; }));
  open();
  EXPECT_EQ(shard_->snapshot()->n_live(), 40U);
}

TEST_F(MaintenanceTest, NothingIsOptimizedWithoutThreads) {
  config_->optimizer.seal_rows = 10;
  config_->optimizer.max_threads = 0;
  open();
  for (std::uint64_t i = 0; i < 4; ++i) put_range(10 * i, 10);
  EXPECT_TRUE(comes_true([&] { return n_sealed() == 4; })) << "seals go on: writers wait for them";
  EXPECT_TRUE(rests());
  EXPECT_EQ(n_done(JobKind::kMerge), 0U);
}

TEST_F(MaintenanceTest, DeletesAreStoredWhenIdle) {
  config_->optimizer.seal_rows = 10;
  open();
  put_range(0, 10);
  EXPECT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == 1; }));
  ASSERT_TRUE(send(delete_request(3)));
  config_ = std::make_shared<CollectionConfig>(*config_);
  config_->optimizer.idle_seal_s = 0;
  set_config();
  EXPECT_TRUE(rests());
  open();
  EXPECT_FALSE(has(3));
  EXPECT_EQ(shard_->snapshot()->n_live(), 9U);
}

/// Bytes of rows on the disk, logs included.
std::uint64_t bytes_of_store(const std::filesystem::path& root) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "rows")) {
    const auto kind = entry.path().extension();
    if (kind == ".sst" || kind == ".blob" || kind == ".log") bytes += entry.file_size();
  }
  return bytes;
}

TEST_F(MaintenanceTest, VectorsOfADroppedFieldLeaveTheStore) {
  constexpr std::uint64_t kRows = 2500;  // more than one step
  constexpr std::uint32_t kLargeDim = 300;
  config_->fields.push_back(
      {"large", FieldKind::kDense, kLargeDim, DType::kF32, Metric::kDot, SparseModifier::kNone});
  open();
  for (std::uint64_t first = 0; first < kRows; first += 500) {
    PreparedPoints points;
    for (std::uint64_t id = first; id < first + 500; ++id) {
      Row row = dense_row(id, 0);
      row.payload = "{\"n\":" + std::to_string(id) + "}";
      row.vectors.push_back(to_stored(config_->fields[1], DenseVector(kLargeDim, 1.0F)).value());
      points.rows.push_back(std::move(row));
    }
    ShardRequest request;
    request.operations.emplace_back(std::move(points));
    ASSERT_TRUE(send(std::move(request)));
  }
  ASSERT_GT(bytes_of_store(root_), kRows * kLargeDim * 4);
  const auto before = shard_->snapshot()->seq;
  config_ = std::make_shared<CollectionConfig>(*config_);
  drop_field(*config_, "large");
  set_config();
  EXPECT_TRUE(comes_true([&] {
    shard_->tick();
    return bytes_of_store(root_) < kRows * kLargeDim;
  })) << bytes_of_store(root_);
  open();
  EXPECT_EQ(shard_->snapshot()->seq, before);
  ASSERT_EQ(shard_->snapshot()->n_live(), kRows);
  const auto place = shard_->snapshot()->find(PointId::number(7)).value();
  const Row row = shard_->snapshot()->segments[place.segment].row(place.row);
  EXPECT_EQ(row.payload, "{\"n\":7}");
  EXPECT_EQ(row.vectors[0], dense_row(7, 0).vectors[0]);
}

}  // namespace
}  // namespace quiver::engine::testing
