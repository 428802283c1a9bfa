#include "engine/write/shard_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/row.h"
#include "storage/rows/runtime.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(Operation, RoundTrip) {
  for (const auto& id : {PointId::number(0), PointId::number(~0ULL), PointId::uuid(1, 2)}) {
    for (const bool is_put : {false, true}) {
      const std::string bytes = encode_op(is_put, id);
      EXPECT_EQ(decode_op(bytes).value(), (LoggedOp{is_put, id}));
      for (std::size_t n = 0; n < bytes.size(); ++n) {
        ASSERT_FALSE(decode_op(bytes.substr(0, n)));
      }
      EXPECT_FALSE(decode_op("x" + bytes.substr(1)));
      EXPECT_FALSE(decode_op(bytes + "x"));
    }
  }
}

class LocalLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_shard_log_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
    config_.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(root_);
  }
  void open() {
    store_.reset();
    store_ =
        storage::ShardStore::open(root_.string(), storage::Runtime::create({}).value()).value();
  }

  /// Stages points `ids` from `seq` on and appends them as one group.
  Result<> append(const std::vector<std::uint64_t>& ids, std::uint64_t seq) {
    Staging group(base_, config_, nullptr);
    PreparedPoints points;
    for (const std::uint64_t id : ids) {
      const DenseVector vector{1, 2};
      points.rows.push_back(
          {PointId::number(id), {}, "{}", {to_stored(config_.fields[0], vector).value()}});
    }
    Seq next{seq};
    QV_TRY(group.apply(points, next));
    int n_calls = 0;
    Result<> committed;
    LocalLog(*store_).append(group, [&](const Result<>& result) {
      ++n_calls;
      committed = result;
    });
    EXPECT_EQ(n_calls, 1);
    return committed;
  }
  [[nodiscard]] std::vector<PointId> replayed(std::uint64_t from) const {
    std::vector<PointId> ids;
    EXPECT_TRUE(LocalLog(*store_).replay(Seq{from}, [&](const LoggedOp& op) {
      EXPECT_TRUE(op.is_put);
      ids.push_back(op.id);
    }));
    return ids;
  }

  std::filesystem::path root_;
  std::unique_ptr<storage::ShardStore> store_;
  CollectionConfig config_;
  SegmentSet base_;
};

TEST_F(LocalLogTest, CommittedGroupsAreThereAfterReopening) {
  EXPECT_EQ(LocalLog(*store_).last().value(), std::nullopt);
  ASSERT_TRUE(append({5, 3}, 1));
  ASSERT_TRUE(append({4}, 3));
  open();
  EXPECT_EQ(LocalLog(*store_).last().value(), Seq{3});
  EXPECT_EQ(replayed(0), (std::vector{PointId::number(5), PointId::number(3), PointId::number(4)}));
  EXPECT_EQ(replayed(2), (std::vector{PointId::number(3), PointId::number(4)}));
  EXPECT_TRUE(replayed(4).empty());
  EXPECT_TRUE(store_->row(PointId::number(4)).value()) << "rows are in the same batch";
}

TEST_F(LocalLogTest, FailuresReachTheCallback) {
  ASSERT_TRUE(store_->close());
  const auto refused = append({1}, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
}

TEST_F(LocalLogTest, DamagedEntriesAreDataLoss) {
  storage::RowBatch batch;
  batch.put_op(Seq{1}, "?");
  ASSERT_TRUE(store_->write(batch));
  const auto read = LocalLog(*store_).replay(Seq{0}, [](const LoggedOp&) {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace quiver::engine::testing
