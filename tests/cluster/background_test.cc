#include "cluster/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/patience.h"

namespace quiver::cluster {
namespace {

class BackgroundTest : public ::testing::Test {
 protected:
  /// A task that waits until `may_end_`.
  std::function<void()> waiting() {
    return [this] {
      ++n_begun_;
      while (!may_end_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++n_ended_;
    };
  }

  std::atomic<bool> may_end_ = false;
  std::atomic<int> n_begun_ = 0, n_ended_ = 0;
  Background background_{2};
};

TEST_F(BackgroundTest, OneOfANameAndNoMoreThanToldRunAtATime) {
  EXPECT_TRUE(background_.start("a", waiting()));
  EXPECT_TRUE(background_.runs("a"));
  EXPECT_FALSE(background_.start("a", waiting()));
  EXPECT_TRUE(background_.start("b", waiting()));
  EXPECT_FALSE(background_.start("c", waiting()));
  EXPECT_FALSE(background_.runs("c"));
  may_end_ = true;
  EXPECT_TRUE(comes_true([&] { return !background_.runs("a") && !background_.runs("b"); }));
  EXPECT_TRUE(background_.start("a", waiting())) << "it is over, and may begin again";
  EXPECT_TRUE(background_.start("c", waiting()));
  background_.stop();
  EXPECT_EQ(n_begun_, 4);
  EXPECT_EQ(n_ended_, 4);
}

TEST_F(BackgroundTest, NothingBeginsAfterTheStop) {
  background_.stop();
  EXPECT_FALSE(background_.start("a", waiting()));
  EXPECT_FALSE(background_.runs("a"));
  background_.stop();
}

}  // namespace
}  // namespace quiver::cluster
