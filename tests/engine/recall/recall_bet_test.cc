#include "engine/recall/recall_bet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace quiver::engine {
namespace {

constexpr int kWorlds = 200;
constexpr int kWatched = 2000;

/// Searches for 10 hits whose queries differ: most find nearly all, some find much less. `mean`: of
/// their recall.
class SearchWorld {
 public:
  SearchWorld(double mean, std::uint64_t seed) : mean_(mean), random_(seed) {}

  double recall() {
    // Losses of queries: a fifth has nine twentieths of the whole loss, the rest the others.
    const double loss = 1 - mean_;
    const bool is_hard = std::uniform_real_distribution<double>()(random_) < 0.2;
    const double own = is_hard ? loss * 2.25 : loss * 0.6875;
    return 1 - std::binomial_distribution<int>(10, std::min(1.0, own))(random_) / 10.0;
  }

 private:
  double mean_;
  std::mt19937_64 random_;
};

/// The number of the search that raised the alarm.
std::optional<int> first_alarm(SearchWorld world, double promised, int n = kWatched) {
  RecallBet bet;
  for (int i = 0; i < n; ++i) {
    bet.note(world.recall(), promised);
    if (bet.capital() >= RecallBet::kAlarmCapital) return i + 1;
  }
  return std::nullopt;
}

int n_alarms(double mean, double promised) {
  int n = 0;
  for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
    n += first_alarm(SearchWorld(mean, seed), promised) ? 1 : 0;
  }
  return n;
}

/// At most 1 in 20, whatever the data: 10 are expected at most, and 18 in fewer than 1 of 100 runs.
TEST(RecallBet, FalseAlarmsAreRareHoweverLongOneLooks) {
  for (const double promised : {0.79, 0.94, 0.98}) {
    EXPECT_LE(n_alarms(promised, promised), 18) << promised << ", exactly kept";
    EXPECT_LE(n_alarms(promised + 0.01, promised), 4) << promised << ", kept as it was promised";
  }
}

TEST(RecallBet, BrokenPromisesAreNoticedSoon) {
  for (const double promised : {0.79, 0.94, 0.98}) {
    std::vector<int> after;
    for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
      const auto alarm = first_alarm(SearchWorld(promised - 0.04, seed), promised);
      ASSERT_TRUE(alarm) << promised << ", seed " << seed;
      after.push_back(*alarm);
    }
    std::sort(after.begin(), after.end());
    RecordProperty("median", after[after.size() / 2]);
    EXPECT_LE(after[after.size() / 2], 400) << promised;
    EXPECT_LE(after.back(), 1500) << promised;
  }
}

/// A capital that was lost while all was well does not delay the alarm by much.
TEST(RecallBet, WhatBreaksLateIsNoticedToo) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RecallBet bet;
    SearchWorld well(0.97, seed);
    for (int i = 0; i < 5000; ++i) bet.note(well.recall(), 0.94);
    ASSERT_LT(bet.capital(), RecallBet::kAlarmCapital) << "seed " << seed;
    SearchWorld worse(0.85, seed);
    int n = 0;
    while (bet.capital() < RecallBet::kAlarmCapital) {
      bet.note(worse.recall(), 0.94);
      ASSERT_LT(++n, 400) << "seed " << seed;
    }
  }
}

TEST(RecallBet, TheCapitalBeginsAtOneAndIsNeverNegative) {
  RecallBet bet;
  EXPECT_EQ(bet.capital(), 1);
  for (int i = 0; i < 3000; ++i) bet.note(1, 0.99);
  EXPECT_GE(bet.capital(), 0);
  EXPECT_LT(bet.capital(), 0.1);
  bet = {};
  bet.note(0, 0.99);
  EXPECT_GT(bet.capital(), 5) << "a search that finds nothing where all is promised";
}

}  // namespace
}  // namespace quiver::engine
