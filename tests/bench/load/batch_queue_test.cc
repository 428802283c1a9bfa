#include "bench/load/batch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace quiver::bench {
namespace {

class BatchQueueTest : public testing::Test {
 protected:
  BatchQueueTest() {
    options_.collection = "c";
    options_.batch = 2;
    vectors_.shape.dim = 1;
    vectors_.batch.n_rows = 5;
    vectors_.batch.values = {0, 1, 2, 3, 4};
    vectors_.batch.first_row = 100;
  }
  std::vector<std::string> requests() {
    BatchQueue queue(endpoint_, options_, vectors_, {});
    std::vector<std::string> taken;
    for (;;) {
      RequestText request;
      switch (queue.next(request)) {
        case RequestSource::State::kReady:
          taken.push_back(*request);
          break;
        case RequestSource::State::kLater:
          std::this_thread::yield();
          break;
        default:
          return taken;
      }
    }
  }

  const client::Endpoint endpoint_{"host", 1};
  LoadOptions options_;
  dataset::Vectors vectors_;
};

TEST_F(BatchQueueTest, EveryRowIsSentOnceInOrder) {
  for (const std::uint32_t queue : {0U, 1U, 16U}) {
    options_.queue = queue;
    const auto sent = requests();
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_THAT(sent[0], testing::StartsWith("PUT /collections/c/points?wait=true HTTP/1.1\r\n"));
    EXPECT_THAT(sent[0], testing::HasSubstr(R"({"id":100,"vector":[0.0]},{"id":101,)"));
    EXPECT_THAT(sent[2], testing::HasSubstr(R"({"points":[{"id":104,"vector":[4.0]}]})"));
  }
}

TEST_F(BatchQueueTest, CanBeAbandoned) {
  options_.queue = 1;
  const std::vector<std::string> payloads(5, R"({"a":1})");
  const BatchQueue queue(endpoint_, options_, vectors_, payloads);
  EXPECT_EQ(queue.sent_bytes(), 0U);
}

}  // namespace
}  // namespace quiver::bench
