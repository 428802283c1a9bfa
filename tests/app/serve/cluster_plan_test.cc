#include "app/serve/cluster_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

using testing::HasSubstr;

Settings three_here() {
  Settings settings;
  settings.database.data_dir = "data";
  settings.cluster.peers = "127.0.0.1:7000,127.0.0.1:7010,127.0.0.1:7020";
  settings.cluster.advertise = "127.0.0.1:7010";
  return settings;
}

std::string trouble(const Settings& settings) {
  const auto plan = plan_cluster(settings);
  return plan ? "" : plan.error().message();
}

TEST(ClusterPlanTest, ThreeNodesOnOneMachine) {
  const auto plan = plan_cluster(three_here());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->address.peer, "127.0.0.1:7010");
  EXPECT_EQ(plan->address.http, "http://127.0.0.1:6333");
  EXPECT_TRUE(plan->has_etcd);
  EXPECT_EQ(plan->etcd.name, "quiver-2");
  EXPECT_EQ(plan->etcd.client_port, 7011);
  EXPECT_EQ(plan->etcd.peer_port, 7012);
  EXPECT_EQ(plan->etcd.data_dir, "data/ledger");
  ASSERT_EQ(plan->etcd.members.size(), 3U);
  EXPECT_EQ(plan->etcd.members[2].peer_port, 7022);
  ASSERT_EQ(plan->ledger.size(), 3U);
  EXPECT_EQ(plan->ledger[0].port, 7011) << "its own first";
}

TEST(ClusterPlanTest, OneMemberOfTheLedgerForTwoNodes) {
  Settings settings = three_here();
  settings.cluster.peers = "127.0.0.1:7000,127.0.0.1:7010";
  const auto plan = plan_cluster(settings).value();
  EXPECT_FALSE(plan.has_etcd);
  ASSERT_EQ(plan.ledger.size(), 1U);
  EXPECT_EQ(plan.ledger[0].port, 7001);
}

TEST(ClusterPlanTest, ALedgerElsewhere) {
  Settings settings = three_here();
  settings.cluster.ledger = "http://e1:2379, https://e2";
  const auto plan = plan_cluster(settings).value();
  EXPECT_FALSE(plan.has_etcd);
  ASSERT_EQ(plan.ledger.size(), 2U);
  EXPECT_EQ(plan.ledger[1].host, "e2");
  EXPECT_TRUE(plan.ledger[1].is_tls);
  settings.cluster.ledger = "e1";
  EXPECT_THAT(trouble(settings), HasSubstr("cluster.ledger: "));
}

TEST(ClusterPlanTest, FindsItselfByItsAddress) {
  Settings settings = three_here();
  settings.cluster.advertise = "";
  EXPECT_THAT(trouble(settings), HasSubstr("cluster.advertise must say which of cluster.peers"));
  settings.cluster.peers = "127.0.0.1,203.0.113.71,203.0.113.72";  // addresses of nobody
  EXPECT_EQ(plan_cluster(settings).value().self, (PeerAddress{"127.0.0.1", 6335}));
}

TEST(ClusterPlanTest, RefusesWhatOthersCannotReach) {
  Settings settings = three_here();
  settings.server.port = 0;
  EXPECT_THAT(trouble(settings), HasSubstr("service.http_port is 0"));
  settings.cluster.advertise_http = "https://balancer:443";
  EXPECT_EQ(plan_cluster(settings).value().address.http, "https://balancer:443");
  settings = three_here();
  settings.cluster.peers = settings.cluster.advertise = "203.0.113.71";
  EXPECT_THAT(trouble(settings), HasSubstr("service.host is 127.0.0.1: other nodes cannot reach"));
  settings.server.host = "0.0.0.0";
  EXPECT_THAT(trouble(settings), HasSubstr("no address of this machine"));
}

}  // namespace
}  // namespace quiver::app
