#include "service/tracing/span_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace quiver::service::tracing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

RequestSpan span(const std::string& name, std::size_t n_stages = 0) {
  RequestSpan span;
  span.name = name;
  for (std::size_t i = 0; i < n_stages; ++i) span.stages.add({});
  return span;
}

TEST(SpanQueueTest, HoldsNoMoreThanItsBound) {
  SpanQueue queue(4);
  EXPECT_TRUE(queue.add(span("a", 2)));
  EXPECT_FALSE(queue.add(span("b", 1))) << "stages count";
  EXPECT_TRUE(queue.add(span("c")));
  EXPECT_FALSE(queue.add(span("d")));
  const SpanBatch batch = queue.take(10, nanoseconds(0));
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(n_spans(batch), 4U);
  EXPECT_EQ(batch[0].name + batch[1].name, "ac");
  EXPECT_TRUE(queue.add(span("e", 3))) << "what was taken leaves room";
}

TEST(SpanQueueTest, ABatchEndsWithTheRequestThatFillsIt) {
  SpanQueue queue(100);
  for (const auto* name : {"a", "b", "c"}) ASSERT_TRUE(queue.add(span(name, 2)));
  EXPECT_EQ(queue.take(4, hours(1)).size(), 2U);
  EXPECT_EQ(queue.take(4, nanoseconds(0)).size(), 1U);
  EXPECT_TRUE(queue.take(4, nanoseconds(0)).empty());
}

TEST(SpanQueueTest, AFullBatchEndsTheWait) {
  SpanQueue queue(100);
  std::thread adds([&] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.add(span("a")));
  });
  EXPECT_EQ(n_spans(queue.take(3, hours(1))), 3U);
  adds.join();
}

TEST(SpanQueueTest, ClosedItTakesNothingAndGivesWhatItHas) {
  SpanQueue queue(100);
  ASSERT_TRUE(queue.add(span("a")));
  EXPECT_FALSE(queue.is_closed_within(nanoseconds(0)));
  std::thread closes([&] { queue.close(); });
  EXPECT_EQ(queue.take(10, hours(1)).size(), 1U);
  EXPECT_TRUE(queue.is_closed_within(hours(1)));
  closes.join();
  EXPECT_FALSE(queue.add(span("b")));
  EXPECT_TRUE(queue.take(10, hours(1)).empty());
}

}  // namespace
}  // namespace quiver::service::tracing
