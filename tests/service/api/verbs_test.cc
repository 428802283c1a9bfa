// The verbs without any transport.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "service/api/collections.h"
#include "service/api/names.h"
#include "service/api/points.h"
#include "service/api/queries.h"
#include "service/api/runtime.h"
#include "service/api/server_info.h"
#include "tests/patience.h"
#include "tests/service/fake_database.h"

namespace quiver::service::api {
namespace {

using ::testing::HasSubstr;

class TestCall final : public Call {
 public:
  TestCall(Runtime& runtime, Access access) : Call(runtime) {
    using Level = Principal::Level;
    begin();
    set_principal(Principal(access == Access::kRead ? Level::kGlobalRead : Level::kManage));
  }
  std::string describe() const override { return "a test"; }
};

/// Waits for the outcome of a verb.
template <class T>
class Outcome {
 public:
  Done<T> done() {
    return [state = state_](Result<T> result) {
      state->thread = std::this_thread::get_id();
      state->promise.set_value(std::move(result));
    };
  }
  Result<T> get() {
    auto future = state_->promise.get_future();
    if (future.wait_for(patience(std::chrono::seconds(10))) == std::future_status::ready) {
      return future.get();
    }
    return fail(Code::kUnknown, "the verb did not answer");
  }
  [[nodiscard]] bool is_of_this_thread() const {
    return state_->thread == std::this_thread::get_id();
  }

 private:
  struct State {
    std::promise<Result<T>> promise;
    std::thread::id thread;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class VerbsTest : public ::testing::Test {
 protected:
  VerbsTest() {
    create("c", "{}");
    create("slow", R"({"mode":"slow"})");
    create("shared", R"({"mode":"shared"})");
    create("throws", R"({"mode":"throws"})");
  }
  void create(const std::string& name, const std::string& client_settings) {
    engine::CollectionConfig config;
    config.client_settings = client_settings;
    EXPECT_TRUE(database_.create_collection(name, std::move(config)));
  }
  OpenCollection open(Call& call, const std::string& name) {
    Outcome<OpenCollection> outcome;
    open_collection(call, name, outcome.done());
    auto found = outcome.get();
    EXPECT_TRUE(found);
    return found ? *std::move(found) : OpenCollection();
  }
  static engine::Query query_of(std::uint64_t limit) {
    engine::Query query;
    query.limit = limit;
    return query;
  }
  /// The outcome of a query, and whether it ran on this thread.
  std::pair<Result<Records>, bool> ask(Call& call, const std::string& name, std::uint64_t limit) {
    Outcome<Records> outcome;
    query(call, open(call, name), query_of(limit), outcome.done());
    auto records = outcome.get();
    return {std::move(records), outcome.is_of_this_thread()};
  }

  FakeDatabase database_;
  MetricsRegistry metrics_;
  Runtime runtime_{Options(), database_, metrics_};
};

TEST_F(VerbsTest, SmallQueriesRunOnTheCallingThread) {
  TestCall call(runtime_, Access::kRead);
  const auto [small, is_small_here] = ask(call, "c", 10);
  EXPECT_TRUE(small);
  EXPECT_TRUE(is_small_here);
  for (const auto* name : {"c", "shared"}) {
    const auto [large, is_large_here] = ask(call, name, 1000);
    EXPECT_TRUE(large) << name;
    EXPECT_FALSE(is_large_here) << name;
  }
}

TEST_F(VerbsTest, ATimeoutNamesTheOperation) {
  TestCall call(runtime_, Access::kRead);
  call.set_timeout(0.01);
  const auto [records, is_here] = ask(call, "slow", 1000);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(records.error().message(),
            "Timeout error: Operation 'Search' timed out after 0.01 seconds");
}

TEST_F(VerbsTest, ACancelledCallEnds) {
  TestCall call(runtime_, Access::kRead);
  Outcome<Records> outcome;
  query(call, open(call, "slow"), query_of(1000), outcome.done());
  call.cancel();
  const auto records = outcome.get();
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().code(), Code::kCancelled);
}

TEST_F(VerbsTest, ExceptionsAreErrors) {
  TestCall call(runtime_, Access::kRead);
  for (const std::uint64_t limit : {10, 1000}) {
    const auto [records, is_here] = ask(call, "throws", limit);
    ASSERT_FALSE(records);
    EXPECT_EQ(records.error().code(), Code::kInternal);
    EXPECT_EQ(records.error().message(), "the fake was asked to throw");
  }
}

TEST_F(VerbsTest, ChangesNeedTheRight) {
  TestCall reader(runtime_, Access::kRead);
  TestCall writer(runtime_, Access::kWrite);
  for (Call* call : {static_cast<Call*>(&reader), static_cast<Call*>(&writer)}) {
    Outcome<std::vector<engine::UpdateResult>> updated;
    std::vector<engine::Operation> operations;
    operations.emplace_back(engine::ClearPayload());
    update(*call, open(*call, "c"), std::move(operations), engine::Ack::kVisible, updated.done());
    const auto result = updated.get();
    EXPECT_EQ(result.has_value(), call == &writer);
    if (!result) {
      EXPECT_EQ(result.error().code(), Code::kPermissionDenied);
    }
  }
  Outcome<bool> dropped;
  drop_collection(reader, "c", dropped.done());
  EXPECT_FALSE(dropped.get());
  EXPECT_TRUE(database_.exists("c"));
}

TEST_F(VerbsTest, UnknownCollectionsAreNotFound) {
  TestCall call(runtime_, Access::kRead);
  for (const std::string name : {"missing", ".."}) {
    Outcome<OpenCollection> outcome;
    open_collection(call, name, outcome.done());
    const auto found = outcome.get();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Code::kNotFound);
    EXPECT_EQ(found.error().subject(), Subject::kCollection);
    EXPECT_EQ(found.error().subject_name(), name);
  }
}

TEST_F(VerbsTest, ABatchIsAnsweredInOrder) {
  TestCall call(runtime_, Access::kRead);
  Outcome<std::vector<Records>> outcome;
  query_batch(call, open(call, "c"), {query_of(1), query_of(2)}, outcome.done());
  const auto answers = outcome.get();
  ASSERT_TRUE(answers);
  EXPECT_EQ(answers->size(), 2U);
}

TEST_F(VerbsTest, TelemetryHasTheAskedParts) {
  TestCall call(runtime_, Access::kRead);
  Outcome<Telemetry> brief;
  telemetry(call, {}, brief.done());
  EXPECT_TRUE(brief.get()->collections.empty());
  Outcome<Telemetry> full;
  TelemetryParts parts;
  parts.machine = parts.collections = parts.shards = true;
  telemetry(call, parts, full.done());
  const auto report = full.get();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->n_collections, 4U);
  ASSERT_EQ(report->collections.size(), 4U);
  EXPECT_EQ(report->collections.front().name, "c");
  EXPECT_EQ(report->collections.front().shards.size(), 1U);
  EXPECT_GT(report->memory.resident_bytes, 0U);
}

TEST(Names, ErrorsNameTheSearch) {
  EXPECT_EQ(in_search(3, "bad"), "bad (in searches[3])");
  EXPECT_EQ(in_search(3, "searches[3]: bad"), "searches[3]: bad");
}

TEST(Names, OfCollections) {
  for (const auto* name : {"a", "A-b_c.d", "ä"}) {
    EXPECT_TRUE(is_collection_name(name)) << name;
    EXPECT_TRUE(check_collection_name(name)) << name;
  }
  for (const std::string name : {"", ".", "..", "a/b", "a\nb"}) {
    EXPECT_FALSE(is_collection_name(name)) << name;
    EXPECT_FALSE(check_collection_name(name)) << name;
  }
  EXPECT_FALSE(check_name_length(std::string(256, 'x')));
  EXPECT_THAT(check_collection_name("a\nb").error().message(), HasSubstr("\\u000a"));
}

}  // namespace
}  // namespace quiver::service::api
