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

#include "service/api/aliases.h"
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
    begin("");
    set_principal(Principal(access == Access::kRead ? Level::kGlobalRead : Level::kManage));
  }
  TestCall(Runtime& runtime, const Principal& principal) : Call(runtime) {
    begin("");
    set_principal(principal);
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

/// A caller with a token for one collection.
Principal holder_of(const std::string& collection, access::Grant grant) {
  Principal::Claims claims;
  claims.grants.push_back({collection, grant});
  return Principal(Principal::Level::kCollections, access::KeyKind::kToken,
                   std::make_shared<const Principal::Claims>(std::move(claims)));
}

/// The outcome of each verb, by its right; called without the check that a transport does before.
class VerbRights : public VerbsTest {
 protected:
  template <class T>
  static bool is_denied(const Result<T>& result) {
    return !result && result.error().code() == Code::kPermissionDenied;
  }
  template <class T, class Verb>
  static bool denies(Verb verb) {
    Outcome<T> outcome;
    verb(outcome.done());
    return is_denied(outcome.get());
  }
  OpenCollection opened() { return {"c", *database_.collection("c")}; }

  void expect_reads(Call& call, bool are_denied) {
    const auto c = opened();
    EXPECT_EQ(denies<OpenCollection>([&](auto done) { open_collection(call, kName, done); }),
              are_denied);
    EXPECT_EQ(is_denied(collection_exists(call, kName)), are_denied);
    EXPECT_EQ(is_denied(check_exists(call, kName)), are_denied);
    EXPECT_EQ(is_denied(collection_info(call, c)), are_denied);
    EXPECT_EQ(is_denied(optimizations(call, c)), are_denied);
    EXPECT_EQ(is_denied(segment_indexes(call, c)), are_denied);
    EXPECT_EQ(is_denied(list_aliases(call, kName)), are_denied);
    EXPECT_EQ(denies<std::vector<engine::Record>>([&](auto done) { retrieve(call, c, {}, done); }),
              are_denied);
    EXPECT_EQ(denies<engine::ScrollPage>([&](auto done) { scroll(call, c, {}, done); }),
              are_denied);
    EXPECT_EQ(denies<std::uint64_t>([&](auto done) { count(call, c, {}, done); }), are_denied);
    EXPECT_EQ(denies<Records>([&](auto done) { query(call, c, query_of(1), done); }), are_denied);
    EXPECT_EQ(
        denies<std::vector<Records>>([&](auto done) { query_batch(call, c, {query_of(1)}, done); }),
        are_denied);
    EXPECT_EQ(
        denies<std::vector<engine::Explanation>>([&](auto done) { explain(call, c, {}, done); }),
        are_denied);
  }
  void expect_point_writes(Call& call, bool are_denied) {
    std::vector<engine::Operation> operations;
    operations.emplace_back(engine::ClearPayload());
    EXPECT_EQ(denies<std::vector<engine::UpdateResult>>([&](auto done) {
                update(call, opened(), operations, engine::Ack::kVisible, done);
              }),
              are_denied);
  }
  void expect_index_writes(Call& call, bool are_denied) {
    EXPECT_EQ(denies<void>([&](auto done) {
                create_index(call, opened(), {}, engine::Ack::kDurable, done);
              }),
              are_denied);
    EXPECT_EQ(denies<bool>([&](auto done) { drop_index(call, opened(), "k", done); }), are_denied);
  }
  void expect_management(Call& call, bool is_denied_all) {
    EXPECT_EQ(denies<void>([&](auto done) { create_collection(call, "new", {}, done); }),
              is_denied_all);
    EXPECT_EQ(denies<void>([&](auto done) {
                update_collection(
                    call, kName, [](engine::CollectionConfig&) -> Result<> { return {}; }, done);
              }),
              is_denied_all);
    EXPECT_EQ(denies<void>([&](auto done) { update_aliases(call, {}, done); }), is_denied_all);
    EXPECT_EQ(denies<bool>([&](auto done) { drop_collection(call, "new", done); }), is_denied_all);
  }
  void expect_global_reads(Call& call, bool are_denied) {
    EXPECT_EQ(denies<std::string>([&](auto done) { metrics(call, done); }), are_denied);
  }

  const std::string kName = "c";
};

TEST_F(VerbRights, AreDemandedWithoutATransport) {
  using Level = Principal::Level;
  struct Case {
    const char* name;
    Principal caller;
    bool reads, writes_points, writes_indexes, reads_all, manages;
  };
  const Case cases[] = {
      {"nobody of note", holder_of("other", access::Grant::kReadWrite), false, false, false, false,
       false},
      {"r", holder_of("c", access::Grant::kRead), true, false, false, false, false},
      {"prw", holder_of("c", access::Grant::kPointsReadWrite), true, true, false, false, false},
      {"rw", holder_of("c", access::Grant::kReadWrite), true, true, true, false, false},
      {"global read", Principal(Level::kGlobalRead), true, false, false, true, false},
      {"manage", Principal(Level::kManage), true, true, true, true, true}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    TestCall call(runtime_, one.caller);
    expect_reads(call, !one.reads);
    expect_point_writes(call, !one.writes_points);
    expect_index_writes(call, !one.writes_indexes);
    expect_global_reads(call, !one.reads_all);
    expect_management(call, !one.manages);
  }
}

TEST_F(VerbRights, ListsShowWhatTheCallerMayRead) {
  TestCall all(runtime_, Principal(Principal::Level::kGlobalRead));
  EXPECT_EQ(collection_names(all)->size(), 4U);
  TestCall one(runtime_, holder_of("c", access::Grant::kRead));
  EXPECT_EQ(*collection_names(one), (std::vector<std::string>{"c"}));
  Outcome<Telemetry> outcome;
  TelemetryParts parts;
  parts.machine = parts.collections = true;
  telemetry(one, parts, outcome.done());
  const auto report = outcome.get();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->n_collections, 1U);
  ASSERT_EQ(report->collections.size(), 1U);
  EXPECT_EQ(report->collections.front().name, "c");
  EXPECT_EQ(report->memory.resident_bytes, 0U);
}

TEST_F(VerbRights, OtherCollectionsOfAQueryAreChecked) {
  TestCall call(runtime_, holder_of("c", access::Grant::kReadWrite));
  const auto lookup = [](const std::string& collection, bool is_nested) {
    engine::Query query = query_of(1);
    engine::Query& where = is_nested ? query.prefetch.emplace_back() : query;
    where.lookup_from.emplace().collection = collection;
    return query;
  };
  for (const bool is_nested : {false, true}) {
    for (const std::string collection : {"c", "slow"}) {
      Outcome<Records> outcome;
      query(call, opened(), lookup(collection, is_nested), outcome.done());
      const auto records = outcome.get();
      EXPECT_EQ(is_denied(records), collection == "slow");
      if (!records) {
        EXPECT_EQ(records.error().message(), "Access to collection slow is required");
      }
      EXPECT_EQ(denies<std::vector<Records>>([&](auto done) {
                  query_batch(call, opened(), {lookup(collection, is_nested)}, done);
                }),
                collection == "slow");
    }
  }
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
