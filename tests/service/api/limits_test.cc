// Verbs enforce the strict mode of their collection.
#include "service/api/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/api/points.h"
#include "service/api/queries.h"
#include "service/api/runtime.h"
#include "tests/patience.h"
#include "tests/service/fake_database.h"

namespace quiver::service::api {
namespace {

using ::testing::HasSubstr;

class StrictCall final : public Call {
 public:
  explicit StrictCall(Runtime& runtime) : Call(runtime) {
    begin("");
    set_principal(Principal(Principal::Level::kManage));
  }
  std::string describe() const override { return "a test"; }
};

class LimitsTest : public ::testing::Test {
 protected:
  /// A collection whose strict mode is `mode`.
  OpenCollection collection(engine::StrictMode mode) {
    engine::CollectionConfig config;
    config.client_settings = "{}";
    config.strict_mode = std::move(mode);
    const std::string name = "c" + std::to_string(n_collections_++);
    EXPECT_TRUE(database_.create_collection(name, std::move(config)));
    return {{}, database_.collection(name).value()};
  }
  /// The outcome of a verb that `start` calls with its `Done`.
  template <class T = void, class Start>
  Result<T> wait_for(Start start) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    auto future = promise->get_future();
    start(Done<T>([promise](Result<T> result) { promise->set_value(std::move(result)); }));
    if (future.wait_for(patience(std::chrono::seconds(10))) == std::future_status::ready) {
      return future.get();
    }
    return fail(Code::kUnknown, "the verb did not answer");
  }
  Result<Records> ask(Call& call, const OpenCollection& target, engine::Query query) {
    return wait_for<Records>(
        [&](Done<Records> done) { api::query(call, target, std::move(query), std::move(done)); });
  }
  Result<std::vector<engine::UpdateResult>> change(Call& call, const OpenCollection& target,
                                                   std::vector<engine::Operation> operations) {
    using Results = std::vector<engine::UpdateResult>;
    return wait_for<Results>([&](Done<Results> done) {
      update(call, target, std::move(operations), engine::Ack::kVisible, std::move(done));
    });
  }
  static engine::Query query_of(std::uint64_t limit) {
    engine::Query query;
    query.limit = limit;
    return query;
  }
  static engine::Upsert upsert_of(std::uint64_t first, std::uint64_t n) {
    engine::Upsert upsert;
    for (std::uint64_t i = 0; i < n; ++i)
      upsert.points.push_back({PointId::number(first + i), {}, {}});
    return upsert;
  }

  int n_collections_ = 0;
  FakeDatabase database_;
  MetricsRegistry metrics_;
  Runtime runtime_{Options(), database_, metrics_};
  StrictCall call_{runtime_};
};

TEST_F(LimitsTest, QueriesAndBatchesAreLimited) {
  engine::StrictMode mode;
  mode.max_query_limit = 10;
  mode.max_batch_searches = 2;
  const auto target = collection(mode);
  EXPECT_TRUE(ask(call_, target, query_of(10)));
  const auto refused = ask(call_, target, query_of(11));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kFailedPrecondition);
  for (const std::vector<std::uint64_t>& limits :
       {std::vector<std::uint64_t>{1, 10}, {1, 11}, {1, 1, 1}}) {
    std::vector<engine::Query> queries;
    for (const auto limit : limits) queries.push_back(query_of(limit));
    const bool is_allowed = limits == std::vector<std::uint64_t>{1, 10};
    const auto answer = wait_for<std::vector<Records>>([&](Done<std::vector<Records>> done) {
      query_batch(call_, target, queries, std::move(done));
    });
    EXPECT_EQ(answer.has_value(), is_allowed);
  }
}

TEST_F(LimitsTest, PagesAreLimited) {
  engine::StrictMode mode;
  mode.max_query_limit = 10;
  const auto target = collection(mode);
  for (const std::uint64_t limit : {10, 11}) {
    engine::ScrollRequest request;
    request.limit = limit;
    const auto page = wait_for<engine::ScrollPage>(
        [&](Done<engine::ScrollPage> done) { scroll(call_, target, request, std::move(done)); });
    EXPECT_EQ(page.has_value(), limit == 10);
  }
}

TEST_F(LimitsTest, FiltersOfCountsNeedIndexes) {
  engine::StrictMode mode;
  mode.allows_unindexed_reads = false;
  const auto target = collection(mode);
  payload::Filter filter;
  filter.must.emplace_back(payload::FieldCondition{"k", payload::IsNull{}});
  for (const auto& given : {std::optional<payload::Filter>(), std::optional(filter)}) {
    const auto n = wait_for<std::uint64_t>(
        [&](Done<std::uint64_t> done) { count(call_, target, {given}, std::move(done)); });
    EXPECT_EQ(n.has_value(), !given);
  }
}

TEST_F(LimitsTest, TheAskedTimeoutIsLimited) {
  engine::StrictMode mode;
  mode.max_timeout_s = 2;
  const auto target = collection(mode);
  EXPECT_TRUE(ask(call_, target, query_of(1))) << "the server's own timeout is not asked for";
  call_.set_timeout(2);
  EXPECT_TRUE(ask(call_, target, query_of(1)));
  call_.set_timeout(3);
  const auto refused = ask(call_, target, query_of(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "Limit exceeded 3 > 2 for \"timeout\". Help: Reduce the \"timeout\" parameter to or "
            "below 2.");
}

TEST_F(LimitsTest, ReadsTakeTokensAndSayWhenToComeBack) {
  engine::StrictMode mode;
  mode.reads_per_minute = 4;
  const auto target = collection(mode);
  engine::RetrieveRequest request;
  request.ids.resize(5);
  const auto read = [&] {
    return wait_for<Records>(
        [&](Done<Records> done) { retrieve(call_, target, request, std::move(done)); });
  };
  const auto too_large = read();
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(too_large.error().message(),
            "Read rate limit exceeded, request larger than rate limiter capacity, please try to "
            "split your request");
  EXPECT_EQ(call_.retry_after_s(), 0U);
  request.ids.resize(4);
  EXPECT_TRUE(read());
  const auto too_early = read();
  ASSERT_FALSE(too_early);
  EXPECT_THAT(too_early.error().message(),
              HasSubstr("Read rate limit exceeded: Operation requires 4 tokens but only 0.0 were "
                        "available. Retry after 60s"));
  EXPECT_EQ(call_.retry_after_s(), 60U);
  call_.begin("");
  EXPECT_EQ(call_.retry_after_s(), 1U);
}

TEST_F(LimitsTest, WritesTakeATokenForEachPoint) {
  engine::StrictMode mode;
  mode.writes_per_minute = 10;
  const auto target = collection(mode);
  EXPECT_FALSE(change(call_, target, {upsert_of(0, 11)}));
  EXPECT_TRUE(change(call_, target, {upsert_of(0, 6), upsert_of(6, 4)}));
  const auto refused = change(call_, target, {upsert_of(0, 1)});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("Write rate limit exceeded: Operation"));
  EXPECT_TRUE(ask(call_, target, query_of(1))) << "reads have a bucket of their own";
  EXPECT_FALSE(wait_for<>([&](Done<> done) {
    create_index(call_, target, {}, engine::Ack::kVisible, std::move(done));
  }));
}

TEST_F(LimitsTest, AnUnindexedFilterCostsHalfOfThePoints) {
  engine::StrictMode mode;
  mode.writes_per_minute = 1000;
  auto target = collection(mode);
  ASSERT_TRUE(change(call_, target, {upsert_of(0, 10)}));
  payload::Filter filter;
  filter.must.emplace_back(payload::FieldCondition{"k", payload::IsNull{}});
  const std::vector<engine::Operation> by_filter = {engine::ClearPayload{filter}};
  const auto limited_to = [&](std::uint64_t per_minute) {
    EXPECT_TRUE(database_.update_config(std::string("c0"), [&](engine::CollectionConfig& config) {
      config.strict_mode->writes_per_minute = per_minute;
      return Result<>();
    }));
  };
  limited_to(4);
  EXPECT_FALSE(change(call_, target, by_filter));
  limited_to(5);
  EXPECT_TRUE(change(call_, target, by_filter));
}

TEST_F(LimitsTest, AFullCollectionStillDeletes) {
  engine::StrictMode mode;
  mode.max_points = 10;
  const auto target = collection(mode);
  EXPECT_TRUE(change(call_, target, {upsert_of(0, 10)}));
  const auto refused = change(call_, target, {upsert_of(10, 1)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "Max points count limit of 10 reached!");
  EXPECT_TRUE(change(call_, target, {engine::DeletePoints{std::vector{PointId::number(1)}}}));
  EXPECT_TRUE(change(call_, target, {upsert_of(10, 1)}));
}

TEST_F(LimitsTest, MemoryIsMeasured) {
  engine::StrictMode mode;
  mode.max_resident_memory_percent = 0;
  const auto full = collection(mode);
  EXPECT_FALSE(change(call_, full, {upsert_of(0, 1)}));
  mode.max_resident_memory_percent = 100;
  const auto roomy = collection(mode);
  EXPECT_TRUE(change(call_, roomy, {upsert_of(0, 1)}));
}

TEST_F(LimitsTest, PayloadIndexesAreLimited) {
  engine::StrictMode mode;
  mode.max_payload_indexes = 0;
  const auto target = collection(mode);
  const auto created = wait_for<>([&](Done<> done) {
    create_index(call_, target, {}, engine::Ack::kVisible, std::move(done));
  });
  ASSERT_FALSE(created);
  EXPECT_THAT(created.error().message(), HasSubstr("maximum number of payload indices (0)"));
}

TEST(StrictUsage, ANewLimitMakesAFullBucket) {
  FakeDatabase database;
  ASSERT_TRUE(database.create_collection("c", {}));
  const auto collection = database.collection("c").value();
  strict::Usage usage;
  const strict::Usage::Clock::time_point now;
  EXPECT_FALSE(usage.take(strict::Rate::kRead, collection, 2, 2, now));
  EXPECT_TRUE(usage.take(strict::Rate::kRead, collection, 2, 1, now));
  EXPECT_FALSE(usage.take(strict::Rate::kWrite, collection, 2, 2, now));
  EXPECT_FALSE(usage.take(strict::Rate::kRead, collection, 3, 3, now));
  ASSERT_TRUE(database.create_collection("d", {}));
  EXPECT_FALSE(usage.take(strict::Rate::kRead, database.collection("d").value(), 3, 3, now));
}

}  // namespace
}  // namespace quiver::service::api
