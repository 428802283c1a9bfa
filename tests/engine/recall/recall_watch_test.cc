#include "engine/recall/recall_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

const RecallTarget kMean95{0.95, {}};

CollectionConfig measured_config(std::uint64_t measured_at_ms) {
  CollectionConfig config = numbers_config();
  RecallTable table;
  table.field = "dot";
  table.measured_at_ms = measured_at_ms;
  set_recall(config, table);
  return config;
}

class RecallWatchTest : public ::testing::Test {
 protected:
  RecallWatchTest() { watch_.follow(measured_config(1)); }

  void note_until_alarm() {
    int n = 0;
    while (!(alarm_ = watch_.note(0, kMean95, 0.5))) ASSERT_LT(++n, 100);
  }
  [[nodiscard]] WatchedSearch search() const {
    const std::vector<float> vector = {1};
    return {0,
            kMean95,
            10,
            index::PreparedQuery::dense(world_.config.fields[0], vector),
            nullptr,
            {},
            world_.snapshot,
            {}};
  }

  const NumbersWorld world_;
  const std::shared_ptr<RecallBudget> budget_ = std::make_shared<RecallBudget>();
  int n_handed_ = 0;
  bool is_taken_ = true;
  RecallWatch watch_{budget_, [this](const WatchedSearch&) {
                       ++n_handed_;
                       return is_taken_;
                     }};
  std::optional<RecallAlarm> alarm_;
};

TEST_F(RecallWatchTest, WantsOneOfTenAndThenOneOfFiveHundred) {
  for (int i = 0; i < 30; ++i) EXPECT_EQ(watch_.wants(0), i % 10 == 0) << i;
  EXPECT_TRUE(watch_.wants(1)) << "fields are counted by themselves";
  EXPECT_FALSE(watch_.wants(99)) << "there is no such field";
  budget_->spend_on_watching(RecallBudget::Seconds(1.999));
  for (int i = 30; i < 1001; ++i) EXPECT_EQ(watch_.wants(0), i == 500 || i == 1000) << i;
  budget_->spend_on_watching(RecallBudget::Seconds(1000));
  for (int i = 1001; i < 2001; ++i) EXPECT_FALSE(watch_.wants(0));
}

TEST_F(RecallWatchTest, BeginsAnewWithAMeasurement) {
  for (int i = 0; i < 5; ++i) static_cast<void>(watch_.wants(0));
  watch_.follow(measured_config(1));
  EXPECT_FALSE(watch_.wants(0)) << "it is the same one";
  watch_.follow(measured_config(2));
  EXPECT_TRUE(watch_.wants(0));
}

TEST_F(RecallWatchTest, NobodyIsWatchedUnlessThereIsSomebodyToDoIt) {
  RecallWatch watch(budget_, {});
  watch.follow(measured_config(1));
  EXPECT_FALSE(watch.wants(0));
}

TEST_F(RecallWatchTest, AnAlarmRaisesEffortsUntilTheNextMeasurement) {
  EXPECT_EQ(watch_.effort_factor(0), 1);
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(watch_.note(0, kMean95, 0.95));
  note_until_alarm();
  EXPECT_TRUE(alarm_->is_first);
  EXPECT_EQ(alarm_->effort_factor, 1.5);
  EXPECT_DOUBLE_EQ(alarm_->promised, 0.94);
  EXPECT_TRUE(watch_.is_alarmed(0));
  EXPECT_FALSE(watch_.is_alarmed(1));
  EXPECT_EQ(watch_.effort_factor(0), 1.5);
  EXPECT_EQ(watch_.effort_factor(1), 1);
  note_until_alarm();
  EXPECT_FALSE(alarm_->is_first);
  EXPECT_EQ(watch_.effort_factor(0), 2.25);
  for (int i = 0; i < 20; ++i) note_until_alarm();
  EXPECT_EQ(watch_.effort_factor(0), RecallWatch::kMaxFactor);
  watch_.follow(measured_config(2));
  EXPECT_FALSE(watch_.is_alarmed(0));
  const auto status = watch_.status(0);
  EXPECT_EQ(status.effort_factor, 1);
  EXPECT_EQ(status.n_watched, 0U);
  EXPECT_EQ(status.n_alarms, 22U) << "since the collection was opened";
}

TEST_F(RecallWatchTest, TellsWhatItSaw) {
  static_cast<void>(watch_.note(0, kMean95, 1));
  static_cast<void>(watch_.note(0, kMean95, 0.9));
  EXPECT_EQ(watch_.status(0).n_watched, 2U);
  EXPECT_DOUBLE_EQ(watch_.status(0).observed, 0.95);
  EXPECT_FALSE(watch_.is_asked(0));
  watch_.note_asked(0);
  EXPECT_TRUE(watch_.is_asked(0));
}

TEST_F(RecallWatchTest, RecallOfEachIsAPromiseOfHowMany) {
  const RecallTarget each{{}, 0.8};
  for (int i = 0; i < 500; ++i) ASSERT_FALSE(watch_.note(0, each, 0.8)) << "they all reach it";
  int n = 0;
  while (!watch_.note(0, each, 0.79)) ASSERT_LT(++n, 100);
}

TEST_F(RecallWatchTest, OneSearchIsDoneAgainAtATime) {
  watch_.hand_over(search());
  watch_.hand_over(search());
  EXPECT_EQ(n_handed_, 1);
  watch_.done_with(RecallBudget::Seconds(0));
  watch_.hand_over(search());
  EXPECT_EQ(n_handed_, 2);
  watch_.done_with(RecallBudget::Seconds(0));
  is_taken_ = false;
  watch_.hand_over(search());
  watch_.hand_over(search());
  EXPECT_EQ(n_handed_, 4) << "what was not taken is not waited for";
}

}  // namespace
}  // namespace quiver::engine::testing
