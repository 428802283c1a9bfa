// Changes that reach a node which does not lead.
#include "service/http/forwarder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "service/handlers/handlers.h"
#include "service/server.h"
#include "tests/gzipped.h"
#include "tests/patience.h"
#include "tests/service/client/listener.h"
#include "tests/service/fake_node.h"
#include "tests/service/http_client.h"

namespace quiver::service {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kCollection = R"({"vectors":{"size":2,"distance":"Dot"}})";
constexpr std::string_view kPoint = R"({"points":[{"id":1,"vector":[1,0]}]})";

/// A node with its server.
struct Member {
  explicit Member(cluster::NodeId id, ServerOptions options = {}) : node(id) {
    options.port = 0;
    options.io_threads = 1;
    options.cluster.node = &node;
    if (options.cluster.leader_patience > milliseconds(1000)) {
      options.cluster.leader_patience =
          std::chrono::duration_cast<milliseconds>(patience(milliseconds(2000)));
    }
    server = Server::start(std::move(options), node.local, metrics).value();
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server->port());
  }
  [[nodiscard]] HttpAnswer call(std::string_view method, std::string_view target,
                                std::string_view body = "", std::string_view headers = "") const {
    HttpClient client(server->port());
    return client.request(method, target, body, headers);
  }

  FakeNode node;
  MetricsRegistry metrics;
  std::unique_ptr<Server> server;
};

ServerOptions impatient() {
  ServerOptions options;
  options.cluster.leader_patience = milliseconds(200);
  return options;
}

class ForwarderTest : public ::testing::Test {
 protected:
  void SetUp() override { follower_.node.follow(leader_.url()); }

  Member leader_{1};
  Member follower_{2};
};

TEST_F(ForwarderTest, TheLeaderMakesChangesAndItsAnswerIsReturned) {
  EXPECT_EQ(follower_.call("PUT", "/collections/c", kCollection).status, 200);
  EXPECT_TRUE(leader_.node.local.exists("c"));
  EXPECT_FALSE(follower_.node.local.exists("c"));
  const auto put = follower_.call("PUT", "/collections/c/points?wait=true", kPoint);
  EXPECT_THAT(put.body, StartsWith(R"({"result":{"operation_id":1,"status":"completed"})"));
  EXPECT_EQ(put.headers.at("content-type"), "application/json");
  const auto again = follower_.call("PUT", "/collections/c", kCollection);
  EXPECT_EQ(again.status, 409) << again.body;
  EXPECT_THAT(again.body, HasSubstr("Collection `c` already exists!"));
  EXPECT_EQ(follower_.call("DELETE", "/collections/c").status, 200);
  EXPECT_FALSE(leader_.node.local.exists("c"));
}

TEST_F(ForwarderTest, ReadsAndLocalThingsStay) {
  ASSERT_EQ(follower_.call("PUT", "/collections/c", kCollection).status, 200);
  EXPECT_EQ(leader_.call("POST", "/collections/c/points/count", "{}").status, 200);
  EXPECT_EQ(follower_.call("POST", "/collections/c/points/count", "{}").status, 404);
  EXPECT_EQ(follower_.call("GET", "/collections/c").status, 404);
  EXPECT_EQ(follower_.call("PUT", "/quotas", R"({"enabled":false})").status, 200);
}

TEST_F(ForwarderTest, KeysBodiesAndIdsTravel) {
  ServerOptions options;
  options.api_key = "key";
  Member leader(3, options);
  Member follower(4, options);
  follower.node.follow(leader.url());
  EXPECT_EQ(follower.call("PUT", "/collections/c", kCollection).status, 401);
  const auto made = follower.call("PUT", "/collections/c", kCollection,
                                  "authorization: Bearer key\r\nx-request-id: r7\r\n");
  EXPECT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.headers.at("x-request-id"), "r7");
  const auto zipped =
      follower.call("PUT", "/collections/c/points?wait=true", gzipped(std::string(kPoint)),
                    "api-key: key\r\ncontent-encoding: gzip\r\n");
  EXPECT_EQ(zipped.status, 200) << zipped.body;
}

TEST_F(ForwarderTest, LargeBodiesTravel) {
  ASSERT_EQ(follower_.call("PUT", "/collections/c", kCollection).status, 200);
  std::string points;
  constexpr int kPoints = 50'000;
  for (int i = 1; i <= kPoints; ++i) {
    points += (i == 1 ? "" : ",") + (R"({"id":)" + std::to_string(i)) +
              R"(,"vector":[0.125,0.25],"payload":{"text":"about one hundred bytes of text"}})";
  }
  const auto put =
      follower_.call("PUT", "/collections/c/points?wait=true", R"({"points":[)" + points + "]}");
  EXPECT_EQ(put.status, 200) << put.body;
  EXPECT_THAT(leader_.call("POST", "/collections/c/points/count", "{}").body,
              HasSubstr(R"("count":50000)"));
}

TEST_F(ForwarderTest, ManyAtOnceShareConnections) {
  ASSERT_EQ(follower_.call("PUT", "/collections/c", kCollection).status, 200);
  std::atomic<int> n_done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, &n_done] {
      HttpClient client(follower_.server->port());
      for (int i = 0; i < 20; ++i) {
        n_done += client.request("PUT", "/collections/c/points?wait=true", kPoint).status == 200;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(n_done, 160);
}

TEST_F(ForwarderTest, AForwardedRequestIsNotForwardedAgain) {
  Member third(3, impatient());
  third.node.follow(follower_.url());
  const auto refused =
      follower_.call("PUT", "/collections/c", kCollection, "x-quiver-forwarded: 9\r\n");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(refused.headers.at("x-quiver-not-leading"), "1");
  EXPECT_THAT(refused.body, HasSubstr("node 2 does not lead now, the leader is " + leader_.url()));
  const auto answer = third.call("PUT", "/collections/c", kCollection);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  EXPECT_THAT(answer.body, HasSubstr("the change was not made: 503 Shard temporarily unavailable: "
                                     "node 2 does not lead now"));
  EXPECT_FALSE(leader_.node.local.exists("c"));
}

TEST_F(ForwarderTest, WaitsForALeader) {
  follower_.node.know_no_leader();
  std::thread election([this] {
    std::this_thread::sleep_for(milliseconds(150));
    follower_.node.follow(leader_.url());
  });
  EXPECT_EQ(follower_.call("PUT", "/collections/c", kCollection).status, 200);
  election.join();
  EXPECT_TRUE(leader_.node.local.exists("c"));
}

TEST_F(ForwarderTest, LeadsWhileItWaits) {
  follower_.node.know_no_leader();
  std::thread election([this] {
    std::this_thread::sleep_for(milliseconds(150));
    follower_.node.lead();
  });
  EXPECT_EQ(follower_.call("PUT", "/collections/c", kCollection).status, 200);
  election.join();
  EXPECT_TRUE(follower_.node.local.exists("c"));
}

TEST_F(ForwarderTest, TriesAgainWhileTheLeaderIsNotReached) {
  follower_.node.follow("http://127.0.0.1:1");
  std::thread election([this] {
    std::this_thread::sleep_for(milliseconds(150));
    follower_.node.follow(leader_.url());
  });
  EXPECT_EQ(follower_.call("PUT", "/collections/c", kCollection).status, 200);
  election.join();
}

TEST_F(ForwarderTest, GivesUpWithoutALeader) {
  Member alone(3, impatient());
  alone.node.know_no_leader();
  const auto answer = alone.call("PUT", "/collections/c", kCollection);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  EXPECT_THAT(answer.body, HasSubstr("the change was not made: nobody leads"));
  EXPECT_FALSE(alone.node.local.exists("c"));
}

TEST_F(ForwarderTest, ABrokenConnectionIsNotTriedAgain) {
  const client::Listener listener;
  follower_.node.follow("http://127.0.0.1:" + std::to_string(listener.endpoint().port));
  std::thread leader([&listener] { listener.answer_once(" "); });
  const auto answer = follower_.call("PUT", "/collections/c", kCollection);
  leader.join();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  EXPECT_THAT(answer.body, HasSubstr("the outcome is not known; the operation may be sent again"));
}

TEST_F(ForwarderTest, ReadsOfACollectionOfOthersGoToThem) {
  ASSERT_EQ(leader_.call("PUT", "/collections/c", kCollection).status, 200);
  ASSERT_EQ(leader_.call("PUT", "/collections/c/points?wait=true", kPoint).status, 200);
  cluster::Holders holders;
  holders.others = {{.peer = "127.0.0.1:1", .http = "http://127.0.0.1:1"},
                    {.peer = "127.0.0.1:1", .http = leader_.url()}};
  follower_.node.set_holders(holders);
  EXPECT_THAT(follower_.call("POST", "/collections/c/points/count", "{}").body,
              HasSubstr(R"("count":1)"))
      << "the first one is not reached, the second one answers";
  EXPECT_EQ(follower_.call("GET", "/collections/c/points/7").status, 404);
  EXPECT_EQ(follower_.call("HEAD", "/collections/c").status, 200);
  EXPECT_EQ(follower_.call("GET", "/collections/other").status, 404);
  const auto refused = follower_.call("GET", "/collections/c", "", "x-quiver-forwarded: 9\r\n");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("x-quiver-not-leading"), "1");
  EXPECT_THAT(refused.body, HasSubstr("node 2 does not have collection `c` now"));
}

TEST_F(ForwarderTest, AReadWhoseConnectionBreaksGoesToTheNextNode) {
  ASSERT_EQ(leader_.call("PUT", "/collections/c", kCollection).status, 200);
  const client::Listener listener;
  cluster::Holders holders;
  holders.others = {
      {.peer = "", .http = "http://127.0.0.1:" + std::to_string(listener.endpoint().port)},
      {.peer = "", .http = leader_.url()}};
  follower_.node.set_holders(holders);
  std::thread holder([&listener] { listener.answer_once(" "); });
  EXPECT_EQ(follower_.call("GET", "/collections/c").status, 200);
  holder.join();
}

TEST_F(ForwarderTest, AReadThatNobodyAnswersIsRefused) {
  Member alone(3, impatient());
  alone.node.set_holders(cluster::Holders());
  const auto answer = alone.call("GET", "/collections/c");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  EXPECT_THAT(answer.body, HasSubstr("no node with collection `c` answers: no node has it"));
}

TEST_F(ForwarderTest, ACollectionMayHaveALeaderOfItsOwn) {
  Member third(3);
  third.node.follow(leader_.url());
  ASSERT_EQ(third.call("PUT", "/collections/c", kCollection).status, 200);
  ASSERT_EQ(follower_.call("PUT", "/collections/d", kCollection).status, 200);
  leader_.node.set_leader_of_collections(cluster::NodeAddress{.peer = "", .http = third.url()});
  third.node.lead();
  ASSERT_EQ(third.call("PUT", "/collections/c", kCollection).status, 200);
  EXPECT_EQ(leader_.call("PUT", "/collections/c/points?wait=true", kPoint).status, 200);
  EXPECT_THAT(third.call("POST", "/collections/c/points/count", "{}").body,
              HasSubstr(R"("count":1)"));
  EXPECT_EQ(leader_.call("DELETE", "/collections/d").status, 200) << "its catalog is its own";
}

/// Requests that change something, and that each node does for itself. A snapshot is restored by
/// the node that has it.
bool stays_here(const RouteDeclaration& route) {
  constexpr std::string_view kLocal[] = {"/issues",    "/quotas",          "/audit/logs",
                                         "/snapshots", "/cluster/recover", "/cluster/metadata",
                                         "/v1/scrub"};
  return route.pattern.find("/jobs") != std::string_view::npos ||
         route.pattern.ends_with("/snapshots") || route.pattern.ends_with("/{snapshot_name}") ||
         route.pattern.ends_with("/snapshot") || route.pattern.ends_with("/snapshots/recover") ||
         route.pattern.ends_with("/snapshots/upload") ||
         std::ranges::any_of(
             kLocal, [&](std::string_view path) { return route.pattern.starts_with(path); });
}

TEST(Effects, EachRouteThatNeedsARightToChangeSaysWhatItChanges) {
  using enum Access;
  for (const auto& route : all_routes()) {
    const bool may_change =
        route.access == kWrite || route.access == kWriteExtras || route.access == kManage;
    const bool is_local = api::changes_nothing_shared(route.effect);
    EXPECT_EQ(is_local, !may_change || stays_here(route))
        << to_string(route.method) << " " << route.pattern;
  }
}

}  // namespace
}  // namespace quiver::service
