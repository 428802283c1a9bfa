#include "service/api/method_answers.h"

#include <gtest/gtest.h>

namespace quiver::service::api {
namespace {

TEST(MethodAnswers, AreSummedUpByMethodAndStatus) {
  MetricsRegistry metrics;
  MethodAnswers answers;
  EXPECT_TRUE(answers.summaries().empty());
  Counter& good = metrics.counter("answers", "", {{"status", "0"}});
  Counter& bad = metrics.counter("answers", "", {{"status", "5"}});
  answers.of("/a/B", 0, good).add(0.001);
  answers.of("/a/B", 0, good).add(0.003);
  answers.of("/a/B", 5, bad).add(0.002);
  EXPECT_EQ(&answers.of("/a/B", 0, good), &answers.of("/a/B", 0, good));
  const auto summaries = answers.summaries();
  ASSERT_EQ(summaries.size(), 1U);
  const auto& of_method = summaries.at("/a/B");
  ASSERT_EQ(of_method.size(), 2U);
  EXPECT_EQ(of_method.at(0).n, 2U);
  EXPECT_NEAR(of_method.at(0).total_us, 4000, 1);
  EXPECT_EQ(of_method.at(5).n, 1U);
}

}  // namespace
}  // namespace quiver::service::api
