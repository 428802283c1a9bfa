#include "engine/write/update_parts.h"

#include <gtest/gtest.h>

#include <optional>

namespace quiver::engine {
namespace {

class UpdateJoinTest : public ::testing::Test {
 protected:
  using Answer = Result<std::vector<UpdateResult>>;
  std::optional<Answer> answer_;
  UpdateJoin join_{2, 2, Ack::kVisible, [this](Answer answer) { answer_ = std::move(answer); }};
};

TEST_F(UpdateJoinTest, TheLastNumberOfEachOperationCounts) {
  join_.part_done({0, 1}, std::vector{Seq{5}, Seq{9}});
  EXPECT_FALSE(answer_);
  join_.part_done({1}, std::vector{Seq{7}});
  ASSERT_TRUE(answer_ && *answer_);
  const auto& results = answer_->value();
  EXPECT_EQ(results[0].operation_id, Seq{5});
  EXPECT_EQ(results[1].operation_id, Seq{9});
  EXPECT_TRUE(results[0].completed);
}

TEST_F(UpdateJoinTest, OneFailureFailsAll) {
  join_.part_done({0}, fail(Code::kNotFound, "first"));
  EXPECT_FALSE(answer_) << "the other part is still on its way";
  join_.part_done({1}, fail(Code::kUnavailable, "second"));
  ASSERT_TRUE(answer_);
  EXPECT_EQ(answer_->error().message(), "first");
}

}  // namespace
}  // namespace quiver::engine
