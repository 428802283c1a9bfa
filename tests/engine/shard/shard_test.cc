#include "engine/shard/shard.h"

#include <gtest/gtest.h>

#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

class ShardTest : public ShardRig {};

TEST_F(ShardTest, UpdatesAreNumberedVisibleAndKept) {
  EXPECT_EQ(send(put_request({1, 2})).value(), std::vector{Seq{2}});
  EXPECT_EQ(send(delete_request(1)).value(), std::vector{Seq{3}});
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  open();
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_EQ(send(put_request({3})).value(), std::vector{Seq{4}}) << "numbers go on";
}

TEST_F(ShardTest, ARequestIsAppliedWholeOrNotAtAll) {
  auto request = put_request({1});
  PreparedChange change;
  change.kind = PreparedChange::Kind::kClearPayload;
  change.points = std::vector{PointId::number(9)};
  request.operations.emplace_back(std::move(change));
  const auto refused = send(std::move(request));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kNotFound);
  EXPECT_FALSE(has(1));
}

TEST_F(ShardTest, AClosedShardAnswersWhatWasQueuedAndRefusesTheRest) {
  ASSERT_TRUE(send(put_request({1})));
  ASSERT_TRUE(shard_->close());
  const auto refused = shard_->submit(put_request({2}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_TRUE(has(1)) << "reads of the snapshot go on";
  EXPECT_TRUE(shard_->close()) << "again";
}

TEST_F(ShardTest, CheckExistsNeedsAStore) {
  EXPECT_TRUE(Shard::check_exists(root_.string(), context_));
  shard_.reset();
  std::filesystem::remove_all(root_ / "rows");
  EXPECT_FALSE(Shard::check_exists(root_.string(), context_));
}

}  // namespace
}  // namespace quiver::engine::testing
