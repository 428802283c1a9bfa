#include "base/threads/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace quiver {
namespace {

struct CountingCallable final : Task::Callable {
  void call() override { ++n_calls; }
  void release() noexcept override { ++n_releases; }
  int n_calls = 0;
  int n_releases = 0;
};

TEST(Task, OwnsItsFunction) {
  const auto shared = std::make_shared<int>(0);
  {
    Task task = [shared] { ++*shared; };
    EXPECT_EQ(shared.use_count(), 2);
    Task moved = std::move(task);
    moved();
    moved();
  }
  EXPECT_EQ(*shared, 2);
  EXPECT_EQ(shared.use_count(), 1);
  EXPECT_FALSE(Task());
}

TEST(Task, ReleasesABorrowedCallableOnce) {
  CountingCallable callable;
  {
    Task task = Task::borrow(callable);
    task();
    Task moved = std::move(task);
    EXPECT_EQ(callable.n_releases, 0);
  }
  EXPECT_EQ(callable.n_calls, 1);
  EXPECT_EQ(callable.n_releases, 1);
}

TEST(TaskQueue, IsFirstInFirstOut) {
  std::vector<int> order;
  TaskQueue queue;
  for (int i = 0; i < 5; ++i) queue.push([&order, i] { order.push_back(i); });
  EXPECT_EQ(queue.size(), 5U);
  TaskQueue moved = std::move(queue);
  while (!moved.empty()) moved.pop()();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  moved.push([&order] { order.push_back(5); });
  moved.pop()();
  EXPECT_EQ(order.back(), 5);
}

TEST(TaskQueue, ReleasesTasksThatNeverRan) {
  CountingCallable callable;
  {
    TaskQueue queue;
    queue.push(Task::borrow(callable));
  }
  EXPECT_EQ(callable.n_calls, 0);
  EXPECT_EQ(callable.n_releases, 1);
}

}  // namespace
}  // namespace quiver
