#include "engine/shard/state/background.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>

namespace quiver::engine::testing {
namespace {

struct Rig {
  ~Rig() {
    while (!background.wait_for(std::chrono::seconds(1))) {
    }
    lane.drain();
  }

  Executor executor{2, "test"};
  SerialLane lane{executor, Priority::kHigh};
  Background background{executor, lane};

  Result<> run(std::function<Result<>()> work) {
    std::promise<Result<>> ended;
    background.run(Priority::kLow, JobKind::kMerge, std::move(work),
                   [&](Result<> result) { ended.set_value(std::move(result)); });
    return ended.get_future().get();
  }
};

TEST(Background, TheEndGetsTheResult) {
  Rig rig;
  EXPECT_TRUE(rig.run([] { return Result<>(); }));
  const auto failed = rig.run([]() -> Result<> { return fail(Code::kDataLoss, "gone"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "gone");
  EXPECT_FALSE(rig.run([]() -> Result<> { throw std::runtime_error("thrown"); }));
}

TEST(Background, NamesWhatRuns) {
  Rig rig;
  EXPECT_EQ(rig.background.running(), "updates");
  std::promise<void> release;
  auto wait = [released = release.get_future().share()] {
    released.wait();
    return Result<>();
  };
  rig.background.run(Priority::kLow, JobKind::kCompactStore, wait, [](const Result<>&) {});
  EXPECT_EQ(rig.background.running(), "compacting the store");
  EXPECT_FALSE(rig.background.wait_for(std::chrono::milliseconds(1)));
  release.set_value();
  while (!rig.background.wait_for(std::chrono::seconds(1))) {
  }
  EXPECT_EQ(rig.background.running(), "updates");
  rig.lane.drain();
}

TEST(Background, AStoppedExecutorRunsNothing) {
  Rig rig;
  rig.executor.stop();
  bool ran = false;
  rig.background.run(
      Priority::kLow, JobKind::kMerge, [&] { return ran = true, Result<>(); },
      [&](const Result<>&) { ran = true; });
  EXPECT_TRUE(rig.background.wait_for(std::chrono::milliseconds(0)));
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace quiver::engine::testing
