#include "engine/segment/verdict_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "engine/segment/segment_rows.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

payload::FilterIdentity named(std::size_t number) {
  payload::FilterIdentity identity;
  identity.hash = number % 7;  // equal for many: the text decides
  identity.text = std::to_string(number);
  return identity;
}

VerdictCache::RowsPtr rows_of(std::size_t number) {
  return std::make_shared<const Bitset>(number + 1, true);
}

TEST(VerdictCache, WantsTheRowsOfAFilterThatIsAskedAgain) {
  VerdictCache cache;
  EXPECT_FALSE(cache.find(named(1)).is_wanted);
  EXPECT_FALSE(cache.find(named(8)).is_wanted) << "the same hash";
  const auto again = cache.find(named(1));
  EXPECT_TRUE(again.is_wanted);
  EXPECT_EQ(again.rows, nullptr);
  cache.keep(named(1), rows_of(1));
  EXPECT_EQ(cache.find(named(1)).rows->size(), 2U);
  EXPECT_EQ(cache.find(named(8)).rows, nullptr);
  EXPECT_EQ(VerdictCache(cache).find(named(1)).rows, nullptr) << "a copy is empty";
}

TEST(VerdictCache, KeepsThoseAskedLast) {
  VerdictCache cache;
  for (std::size_t i = 0; i <= VerdictCache::kMaxKept; ++i) {
    (void)cache.find(named(0));
    cache.keep(named(i), rows_of(i));
  }
  EXPECT_NE(cache.find(named(0)).rows, nullptr) << "it was asked all the time";
  EXPECT_EQ(cache.find(named(1)).rows, nullptr);
  for (std::size_t i = 2; i <= VerdictCache::kMaxKept; ++i) {
    EXPECT_EQ(cache.find(named(i)).rows->size(), i + 1);
  }
}

TEST(VerdictCache, ManyFiltersAreForgotten) {
  VerdictCache cache;
  for (std::size_t i = 0; i < 3 * VerdictCache::kMaxAsked; ++i) {
    EXPECT_FALSE(cache.find(named(i)).is_wanted);
  }
  EXPECT_FALSE(cache.find(named(0)).is_wanted);
}

TEST(VerdictCache, AnyThreadMayAsk) {
  VerdictCache cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache] {
      for (std::size_t i = 0; i < 2000; ++i) {
        const std::size_t number = i * i % 40;
        const auto found = cache.find(named(number));
        if (found.rows != nullptr) {
          EXPECT_EQ(found.rows->size(), number + 1);
        } else if (found.is_wanted) {
          cache.keep(named(number), rows_of(number));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

/// The same rows however often a filter is asked, while rows die.
TEST(VerdictCache, MatchingRowsStayTheLiveOnes) {
  constexpr std::uint32_t kRows = 200;
  const auto config = numbers_config();
  std::vector<Row> rows;
  for (std::uint32_t number = 0; number < kRows; ++number)
    rows.push_back(number_row(number, config));
  Segment segment = segment_of_rows(rows, config, 1);
  auto sealed = std::make_shared<SegmentData>(*segment.data);
  sealed->sealed = true;
  segment.data = std::move(sealed);
  const auto predicate = payload::compile(only_odd(), config.indexes).value();
  auto deleted = std::make_shared<Bitset>(kRows);
  const Cancel cancel;
  for (std::uint32_t round = 0; round < 6; ++round) {
    const auto matching = matching_rows(segment, predicate.get(), cancel);
    ASSERT_TRUE(matching);
    Bitset want(kRows);
    for (std::uint32_t row = 1; row < kRows; row += 2) {
      if (!deleted->test(row)) want.set(row);
    }
    EXPECT_EQ(*matching, want) << round;
    EXPECT_EQ(segment.data->verdicts.find(*predicate->identity()).rows != nullptr, round >= 1);
    auto more = std::make_shared<Bitset>(*deleted);
    for (std::uint32_t row = round; row < kRows; row += 17) more->set(row);
    segment.n_deleted = static_cast<std::uint32_t>(more->count());
    segment.deleted = deleted = more;
  }
}

}  // namespace
}  // namespace quiver::engine::testing
