#include "service/api/strict/token_bucket.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <random>

namespace quiver::service::api::strict {
namespace {

using Clock = TokenBucket::Clock;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TokenBucket, HoldsOneMinuteAndRefillsEvenly) {
  Clock::time_point now;
  TokenBucket bucket(60, now);
  EXPECT_FALSE(bucket.take(60, now));
  const auto refused = bucket.take(1, now);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->is_too_large);
  EXPECT_EQ(refused->n_available, 0);
  EXPECT_DOUBLE_EQ(refused->wait_s, 1);
  EXPECT_TRUE(bucket.take(1, now + milliseconds(999)));
  EXPECT_FALSE(bucket.take(1, now + milliseconds(1001)));
}

TEST(TokenBucket, AWaitAsLongAsItSaysIsEnough) {
  Clock::time_point now;
  TokenBucket bucket(7, now);
  EXPECT_FALSE(bucket.take(5, now));
  const auto refused = bucket.take(4, now);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->n_available, 2);
  const auto wait_ms = static_cast<std::int64_t>(std::ceil(refused->wait_s * 1000));
  EXPECT_TRUE(bucket.take(4, now + milliseconds(wait_ms - 10)));
  EXPECT_FALSE(bucket.take(4, now + milliseconds(wait_ms)));
}

TEST(TokenBucket, MoreThanItHoldsNeverPasses) {
  Clock::time_point now;
  TokenBucket bucket(10, now);
  const auto refused = bucket.take(11, now + std::chrono::hours(1));
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->is_too_large);
  EXPECT_FALSE(bucket.take(10, now + std::chrono::hours(1))) << "a refusal takes nothing";
}

/// In any minute at most twice the limit passes: the full bucket, and what comes back meanwhile.
/// Whatever is refused would have exceeded what is left, and the wait it is told is enough.
TEST(TokenBucket, RandomRequests) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::uint64_t per_minute = 1 + random() % 200;
    Clock::time_point now;
    TokenBucket bucket(per_minute, now);
    double tokens = static_cast<double>(per_minute);  // the slow, obvious reference
    std::deque<std::pair<Clock::time_point, std::uint64_t>> taken;
    for (int i = 0; i < 500; ++i) {
      const auto step = milliseconds(random() % 2000);
      now += step;
      tokens = std::min(static_cast<double>(per_minute),
                        tokens + static_cast<double>(per_minute) / 60 *
                                     std::chrono::duration<double>(step).count());
      const std::uint64_t n = 1 + random() % (per_minute + per_minute / 4 + 1);
      const auto refused = bucket.take(n, now);
      ASSERT_EQ(refused.has_value(), static_cast<double>(n) > tokens) << i;
      if (!refused) {
        tokens -= static_cast<double>(n);
        taken.emplace_back(now, n);
      } else if (!refused->is_too_large) {
        ASSERT_NEAR(refused->n_available, tokens, 1e-6);
        ASSERT_GE(tokens + refused->wait_s * static_cast<double>(per_minute) / 60 + 1e-6,
                  static_cast<double>(n));
      }
      while (!taken.empty() && now - taken.front().first > seconds(60)) taken.pop_front();
      std::uint64_t in_minute = 0;
      for (const auto& [when, count] : taken) in_minute += count;
      ASSERT_LE(in_minute, 2 * per_minute);
    }
  }
}

}  // namespace
}  // namespace quiver::service::api::strict
