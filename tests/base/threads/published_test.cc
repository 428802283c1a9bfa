#include "base/threads/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace quiver {
namespace {

TEST(Published, ReadersKeepTheSnapshotTheyLoaded) {
  Published<int> current(std::make_shared<const int>(1));
  const auto old = current.load();
  current.store(std::make_shared<const int>(2));
  EXPECT_EQ(*old, 1);
  EXPECT_EQ(*current.load(), 2);
}

TEST(Published, ReadersNeverSeeAnOlderSnapshotAfterANewerOne) {
  constexpr int kLast = 2000;
  Published<int> current(std::make_shared<const int>(0));
  std::atomic<bool> went_back = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int seen = 0;
      while (seen < kLast) {
        const int value = *current.load();
        if (value < seen) went_back = true;
        seen = value;
      }
    });
  }
  for (int i = 1; i <= kLast; ++i) current.store(std::make_shared<const int>(i));
  for (auto& reader : readers) reader.join();
  EXPECT_FALSE(went_back);
}

}  // namespace
}  // namespace quiver
