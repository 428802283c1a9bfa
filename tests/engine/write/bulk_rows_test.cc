#include "engine/write/bulk_rows.h"

#include <gtest/gtest.h>

#include "engine/model/row.h"
#include "engine/write/prepared.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

class BulkRowsTest : public ::testing::Test {
 protected:
  BulkRowsTest() {
    config_.fields = {
        {"v", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config_.shard_number = 2;
    for (std::size_t i = 0; i < kRows; ++i) {
      ids_.push_back(PointId::number((i * 7) % 31));
      values_.insert(values_.end(), {static_cast<float>(i), 1});
    }
    chunk_.ids = ids_;
    chunk_.fields = {{"v", DenseRows{values_}, {}}};
  }
  [[nodiscard]] std::string error() {
    const auto rows = make_bulk_rows(chunk_, config_, executor_);
    return rows ? "" : rows.error().message();
  }

  static constexpr std::size_t kRows = 100;

  Executor executor_{2, "test"};
  CollectionConfig config_;
  std::vector<PointId> ids_;
  std::vector<float> values_;
  BulkChunk chunk_;
};

TEST_F(BulkRowsTest, PartsHaveTheLastRowOfEachPointInOrder) {
  const auto made = make_bulk_rows(chunk_, config_, executor_);
  ASSERT_TRUE(made) << made.error().to_string();
  std::uint64_t n_numbers = 0;
  std::size_t n_rows = 0;
  for (const BulkPart& part : made->parts) {
    n_numbers += part.n_numbers;
    n_rows += part.rows.size();
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
      const PointId& id = ids_[part.rows[i].row];
      EXPECT_EQ(shard_of(id, 2), part.shard);
      if (i > 0) {
        EXPECT_LT(ids_[part.rows[i - 1].row], id);
      }
      for (std::size_t later = part.rows[i].row + 1; later < kRows; ++later) {
        EXPECT_NE(ids_[later], id);
      }
    }
  }
  EXPECT_EQ(n_numbers, kRows) << "rows that are overwritten take numbers, too";
  EXPECT_EQ(n_rows, 31U);
}

TEST_F(BulkRowsTest, RowsAreStoredAsByAnUpsert) {
  auto made = make_bulk_rows(chunk_, config_, executor_).value();
  made.data.seqs = SharedSpan<Seq>::of(std::vector<Seq>(kRows, Seq{5}));
  std::string stored;
  append_row(made.data, 3, stored);
  const Row row = decode_row(ids_[3], stored, config_.fields).value();
  EXPECT_EQ(row.seq, Seq{5});
  EXPECT_EQ(row.payload, "{}");
  EXPECT_EQ(row.vectors[0], to_stored(config_.fields[0], DenseVector{3, 1}).value());
}

TEST_F(BulkRowsTest, WhatDoesNotFitIsNamed) {
  chunk_.fields[0].name = "no";
  EXPECT_EQ(error(), "vector field `no` does not exist");
  chunk_.fields[0].name = "v";
  chunk_.fields.push_back(chunk_.fields[0]);
  EXPECT_EQ(error(), "bulk chunk: vector `v` is given twice");
  chunk_.fields.pop_back();
  values_.pop_back();
  chunk_.fields[0].rows = DenseRows{values_};
  EXPECT_NE(error(), "");
  config_.optimizer.max_segment_rows = 10;
  EXPECT_EQ(error(), "bulk chunk: 100 points, at most 10 fit a segment");
}

}  // namespace
}  // namespace quiver::engine::testing
