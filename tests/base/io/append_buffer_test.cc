#include "base/io/append_buffer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "base/threads/published.h"

namespace quiver {
namespace {

TEST(AppendBuffer, EqualsVectorUnderRandomAppends) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  AppendBuffer<std::uint32_t> buffer;
  std::vector<std::uint32_t> reference;
  std::vector<SharedSpan<std::uint32_t>> views;
  for (int step = 0; step < 2000; ++step) {
    const std::uint32_t value = random();
    switch (random() % 3) {
      case 0:
        buffer.append(value);
        reference.push_back(value);
        break;
      case 1: {
        const std::vector<std::uint32_t> many(random() % 20, value);
        buffer.append(std::span<const std::uint32_t>(many));
        reference.insert(reference.end(), many.begin(), many.end());
        break;
      }
      default: {
        const std::size_t n = random() % 20;
        auto* zeros = buffer.append_zeros(n);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(zeros[i], 0U);
        if (n != 0) zeros[n / 2] = value;
        reference.resize(reference.size() + n);
        if (n != 0) reference[reference.size() - n + n / 2] = value;
      }
    }
    ASSERT_EQ(buffer.size(), reference.size());
    if (step % 50 == 0) views.push_back(buffer.view());
  }
  for (const auto& view : views) {
    ASSERT_TRUE(std::equal(view.begin(), view.end(), reference.begin()));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % 64, 0U);
  }
  EXPECT_GE(buffer.memory_bytes(), reference.size() * 4);
}

TEST(AppendBuffer, AppendsPartsOfItself) {
  AppendBuffer<int> buffer;
  buffer.append(1);
  for (int i = 0; i < 16; ++i) buffer.append(buffer.span());  // doubles, and grows meanwhile
  ASSERT_EQ(buffer.size(), 65536U);
  for (const int x : buffer.span()) ASSERT_EQ(x, 1);
  buffer.append(buffer.span()[3]);
  EXPECT_EQ(buffer.span().back(), 1);
}

TEST(AppendBuffer, ViewsOutliveTheBuffer) {
  SharedSpan<int> view;
  {
    AppendBuffer<int> buffer;
    buffer.append(42);
    view = buffer.view();
  }
  EXPECT_EQ(view[0], 42);
}

TEST(AppendBuffer, EmptyViewAndZeroAppends) {
  AppendBuffer<double> buffer;
  EXPECT_TRUE(buffer.view().empty());
  buffer.append(std::span<const double>());
  buffer.append_zeros(0);
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.memory_bytes(), 0U);
}

// Under ThreadSanitizer this checks the invariants; otherwise only that old views never change.
TEST(AppendBuffer, ReadersSeeWhatWasPublished) {
  constexpr std::size_t kN = 50000;
  Published<SharedSpan<std::uint64_t>> published(
      std::make_shared<const SharedSpan<std::uint64_t>>());
  std::atomic<bool> is_wrong = false;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      for (std::size_t n = 0; n < kN;) {
        const auto view = published.load();
        n = view->size();
        for (std::size_t i = n > 100 ? n - 100 : 0; i < n; ++i) {
          if ((*view)[i] != i * i) is_wrong = true;
        }
      }
    });
  }
  AppendBuffer<std::uint64_t> buffer;
  for (std::uint64_t i = 0; i < kN; ++i) {
    buffer.append(i * i);
    if (i % 7 == 0 || i + 1 == kN) {
      published.store(std::make_shared<const SharedSpan<std::uint64_t>>(buffer.view()));
    }
  }
  for (auto& reader : readers) reader.join();
  EXPECT_FALSE(is_wrong);
}

}  // namespace
}  // namespace quiver
