#include "engine/shard/state/shard_common.h"

#include <gtest/gtest.h>

#include <new>

#include "tests/engine/shard/shard_parts.h"

namespace quiver::engine::testing {
namespace {

class ShardCommonTest : public ShardParts {};

TEST_F(ShardCommonTest, TheLaneAnswersCalls) {
  EXPECT_EQ(common_->in_lane([]() -> Result<int> { return 7; }).value(), 7);
  const auto failed = common_->in_lane([]() -> Result<> { return fail(Code::kDataLoss, "gone"); });
  EXPECT_EQ(failed.error().code(), Code::kDataLoss);
  const auto thrown = common_->in_lane([]() -> Result<> { throw std::bad_alloc(); });
  EXPECT_EQ(thrown.error().code(), Code::kResourceExhausted);
}

TEST_F(ShardCommonTest, AClosedShardTakesNoCalls) {
  common_->closed = true;
  const auto refused = common_->in_lane([] { return Result<>(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace quiver::engine::testing
