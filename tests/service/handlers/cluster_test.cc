// What a node says of its cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/server.h"
#include "tests/patience.h"
#include "tests/service/fake_node.h"
#include "tests/service/http_client.h"

namespace quiver::service {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

cluster::NodeView three_nodes() {
  cluster::NodeView view;
  view.self = 11;
  view.leader = 22;
  view.epoch = 5;
  view.n_nodes = 3;
  view.write_quorum = 2;
  view.is_ledger_up = true;
  view.ledger_revision = 70;
  view.ledger_term = 4;
  view.n_pending = 1;
  view.members = {{11, {"a:6335", "http://a:6333"}, true, true, 0},
                  {22, {"b:6335", "http://b:6333"}, true, false, 7},
                  {33, {"c:6335", "http://c:6333"}, false, true, 9}};
  return view;
}

class ClusterViewTest : public ::testing::Test {
 protected:
  void start(const cluster::NodeView& view) {
    node_.set_view(view);
    ServerOptions options;
    options.port = 0;
    options.io_threads = 1;
    options.cluster.node = &node_;
    server_ = Server::start(std::move(options), node_.local, metrics_).value();
  }
  HttpAnswer call(std::string_view method, std::string_view target, std::string_view body = "") {
    HttpClient client(server_->port());
    return client.request(method, target, body);
  }

  FakeNode node_{11};
  MetricsRegistry metrics_;
  std::unique_ptr<Server> server_;
};

TEST_F(ClusterViewTest, TheClusterInTheShapeOfStockClients) {
  start(three_nodes());
  const std::string body = call("GET", "/cluster").body;
  EXPECT_THAT(
      body,
      StartsWith(
          R"({"result":{"status":"enabled","peer_id":11,"peers":{"11":{"uri":"http://a:6335/"},"22":{"uri":"http://b:6335/"},"33":{"uri":"http://c:6335/"}},"raft_info":{"term":4,"commit":70,"pending_operations":1,"role":"Follower","is_voter":true,"leader":22},"consensus_thread_status":{"consensus_thread_status":"working","last_update":")"));
  EXPECT_THAT(body, HasSubstr(R"("message_send_failures":{})"));
  EXPECT_THAT(body, HasSubstr(R"("epoch":5,"n_nodes":3,"write_quorum":2,"ledger_up":true)"));
  EXPECT_THAT(
      body,
      HasSubstr(
          R"({"peer_id":22,"peer":"b:6335","http":"http://b:6333","alive":true,"leads":true,"active":false,"lag_entries":7})"));
}

TEST_F(ClusterViewTest, ALedgerThatIsSilent) {
  auto view = three_nodes();
  view.leader = 0;
  view.is_ledger_up = false;
  view.stale_s = 9.5;
  start(view);
  const auto answer = call("GET", "/cluster");
  EXPECT_THAT(answer.body, HasSubstr(R"("leader":null)"));
  EXPECT_THAT(
      answer.body,
      HasSubstr(
          R"({"consensus_thread_status":"stopped_with_err","err":"the ledger was last heard 9.5 s ago"})"));
}

TEST_F(ClusterViewTest, ShardsOfACollectionAreOnEveryNode) {
  start(three_nodes());
  engine::CollectionConfig config;
  config.cluster_id = "1";
  ASSERT_TRUE(node_.local.create_collection("c", std::move(config)));
  EXPECT_THAT(
      call("GET", "/collections/c/cluster").body,
      StartsWith(
          R"({"result":{"peer_id":11,"shard_count":1,"local_shards":[{"shard_id":0,"points_count":0,"state":"Active"}],"remote_shards":[{"shard_id":0,"peer_id":22,"state":"Partial"},{"shard_id":0,"peer_id":33,"state":"Dead"}],"shard_transfers":[]})"));
}

TEST_F(ClusterViewTest, ACollectionOfBeforeTheClusterIsAlone) {
  start(three_nodes());
  ASSERT_EQ(call("PUT", "/collections/c", R"({"vectors":{"size":2,"distance":"Dot"}})").status,
            200);
  EXPECT_THAT(call("GET", "/collections/c/cluster").body,
              HasSubstr(R"("remote_shards":[],"shard_transfers":[],"alone":true})"));
}

TEST_F(ClusterViewTest, TelemetryAndWhatIsNotBuilt) {
  start(three_nodes());
  EXPECT_THAT(call("GET", "/telemetry").body,
              HasSubstr(R"("cluster":{"enabled":true,"status":{"number_of_peers":3,"term":4)"));
  EXPECT_EQ(call("POST", "/cluster/recover").status, 501);
}

TEST_F(ClusterViewTest, ANodeThatDrainsAndACollectionThatCannotMove) {
  auto view = three_nodes();
  view.members[1].drain = cluster::DrainView{2, false, "no room"};
  view.members[2].drain = cluster::DrainView{0, true, ""};
  view.n_moving = 4;
  view.n_under_replicated = 5;
  start(view);
  const std::string body = call("GET", "/cluster").body;
  EXPECT_THAT(
      body,
      HasSubstr(
          R"("lag_entries":7,"draining":{"collections_left":2,"safe_to_stop":false,"trouble":"no room"}})"));
  EXPECT_THAT(body, HasSubstr(R"("draining":{"collections_left":0,"safe_to_stop":true}})"));
  EXPECT_THAT(body, HasSubstr(R"("moving_collections":4,"under_replicated_collections":5})"));
}

TEST_F(ClusterViewTest, ChangesOfNodes) {
  start(three_nodes());
  std::vector<std::string> asked;
  node_.on_change = [&](std::string_view change, cluster::NodeId node) -> Result<> {
    asked.push_back(std::string(change) + " " + std::to_string(node));
    if (node == 22) return {};
    return fail(Code::kNotFound, "no such node");
  };
  EXPECT_EQ(call("POST", "/v1/cluster/nodes/22/drain").body.substr(0, 14), R"({"result":true)");
  EXPECT_EQ(call("DELETE", "/v1/cluster/nodes/22/drain").status, 200);
  EXPECT_EQ(call("DELETE", "/cluster/peer/22").status, 200);
  EXPECT_EQ(call("DELETE", "/cluster/peer/22?force=true&timeout=3").status, 200);
  EXPECT_EQ(call("DELETE", "/cluster/peer/9").status, 404);
  EXPECT_EQ(call("DELETE", "/cluster/peer/nine").status, 400);
  EXPECT_EQ(call("DELETE", "/cluster/peer/22?force=perhaps").status, 400);
  EXPECT_THAT(asked, ::testing::ElementsAre("drain 22", "end drain 22", "remove 22", "force out 22",
                                            "remove 9"));
}

TEST_F(ClusterViewTest, IsReadyOnceItHasSeenTheLedger) {
  start(cluster::NodeView());
  const auto starting = call("GET", "/readyz");
  EXPECT_EQ(starting.status, 503);
  EXPECT_THAT(starting.body, HasSubstr("this node has not reached the ledger"));
  node_.set_view(three_nodes());
  EXPECT_EQ(call("GET", "/readyz").status, 200);
  auto cut_off = three_nodes();
  cut_off.lease_s = 3;
  cut_off.stale_s = 3.5;
  node_.set_view(cut_off);
  const auto refused = call("GET", "/readyz");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("has not answered this node for 4 s"));
}

TEST_F(ClusterViewTest, StaleReadsSaySo) {
  auto view = three_nodes();
  view.stale_s = 2.5;  // within the lease
  start(view);
  ASSERT_EQ(call("PUT", "/collections/c", R"({"vectors":{"size":2,"distance":"Dot"}})").status,
            200);
  EXPECT_EQ(call("GET", "/collections/c").headers.count("x-quiver-stale-seconds"), 0U);
  view.stale_s = 7.25;
  node_.set_view(view);
  const auto end = patience_end(std::chrono::seconds(2));  // the node is not asked each time
  HttpAnswer read;
  while (read.headers.count("x-quiver-stale-seconds") == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    read = call("POST", "/collections/c/points/count", "{}");
  }
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.headers.at("x-quiver-stale-seconds"), "7.2");
  EXPECT_EQ(call("GET", "/healthz").headers.count("x-quiver-stale-seconds"), 0U);
}

}  // namespace
}  // namespace quiver::service
