#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace quiver {
namespace {

TEST(Mutex, WaitEndsWithANotification) {
  Mutex mutex;
  CondVar changed;
  bool is_set = false;
  std::thread setter([&] {
    MutexLock lock(mutex);
    is_set = true;
    changed.notify_one();
  });
  {
    MutexLock lock(mutex);
    while (!is_set) changed.wait(mutex);
  }
  setter.join();
  EXPECT_TRUE(is_set);
}

TEST(Mutex, WaitForEndsWithItsTimeout) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds kTimeout(5);
  while (never.wait_for(mutex, kTimeout)) {  // spurious wake-ups are allowed
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, kTimeout);
}

}  // namespace
}  // namespace quiver
