#include "engine/recall/recall_budget.h"

#include <gtest/gtest.h>

namespace quiver::engine {
namespace {

using Mood = RecallBudget::Mood;
using Urgency = RecallUrgency;

class RecallBudgetTest : public ::testing::Test {
 protected:
  [[nodiscard]] static RecallBudget::Time at(double seconds) {
    return RecallBudget::Time() +
           std::chrono::duration_cast<RecallBudget::Time::duration>(RecallBudget::Seconds(seconds));
  }
  void spend(double seconds) { budget_.spend_on_watching(RecallBudget::Seconds(seconds)); }

  RecallBudget budget_;
};

TEST_F(RecallBudgetTest, WatchesOftenWhileTimeIsSaved) {
  EXPECT_EQ(budget_.one_of(Mood::kCalm, at(100)), RecallBudget::kOften);
  spend(1.5);
  EXPECT_EQ(budget_.one_of(Mood::kCalm, at(100)), RecallBudget::kSeldom);
  EXPECT_EQ(budget_.one_of(Mood::kSuspicious, at(100)), RecallBudget::kOften);
  spend(1);
  EXPECT_EQ(budget_.one_of(Mood::kSuspicious, at(100)), 0U) << "half a second too much";
  EXPECT_EQ(budget_.one_of(Mood::kCalm, at(124)), 0U);
  EXPECT_EQ(budget_.one_of(Mood::kCalm, at(126)), RecallBudget::kSeldom) << "2 % of 26 s";
  EXPECT_EQ(budget_.one_of(Mood::kCalm, at(180)), RecallBudget::kOften);
}

TEST_F(RecallBudgetTest, SavesTwoSecondsAtMost) {
  EXPECT_EQ(budget_.one_of(Mood::kCalm, at(0)), RecallBudget::kOften);
  EXPECT_EQ(budget_.one_of(Mood::kCalm, at(1e6)), RecallBudget::kOften);
  spend(2.001);
  EXPECT_EQ(budget_.one_of(Mood::kSuspicious, at(1e6)), 0U);
}

TEST_F(RecallBudgetTest, MeasuresOneFieldAtATime) {
  ASSERT_TRUE(budget_.begin_measuring(Urgency::kUsual, at(1)));
  EXPECT_FALSE(budget_.begin_measuring(Urgency::kFirst, at(2)));
  budget_.end_measuring(RecallBudget::Seconds(1), at(2));
  EXPECT_TRUE(budget_.begin_measuring(Urgency::kFirst, at(2)));
}

TEST_F(RecallBudgetTest, RestsAfterAMeasurement) {
  ASSERT_TRUE(budget_.begin_measuring(Urgency::kFirst, at(0)));
  budget_.end_measuring(RecallBudget::Seconds(4), at(4));
  EXPECT_EQ(budget_.rest(Urgency::kFirst, at(4)).count(), 0);
  EXPECT_NEAR(budget_.rest(Urgency::kAlarm, at(14)).count(), 30, 1e-6);
  EXPECT_NEAR(budget_.rest(Urgency::kUsual, at(14)).count(), 190, 1e-6);
  EXPECT_FALSE(budget_.begin_measuring(Urgency::kAlarm, at(43)));
  EXPECT_FALSE(budget_.begin_measuring(Urgency::kUsual, at(203)));
  EXPECT_TRUE(budget_.begin_measuring(Urgency::kAlarm, at(45)));
  budget_.end_measuring(RecallBudget::Seconds(4), at(49));
  EXPECT_TRUE(budget_.begin_measuring(Urgency::kUsual, at(250)));
}

}  // namespace
}  // namespace quiver::engine
