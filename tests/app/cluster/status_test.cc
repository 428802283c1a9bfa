#include "app/cluster/status.h"

#include <gtest/gtest.h>

#include "app/cluster/nodes.h"

namespace quiver::app {
namespace {

TEST(ClusterStatus, OneLineForEachNode) {
  const auto table = cluster_table(
      R"({"result":{"status":"enabled","n_nodes":3,"write_quorum":2,"ledger_up":true,"nodes":[
          {"peer_id":9223372036854775807,"peer":"10.0.0.1:6335","alive":true,"leads":true,"active":true,"lag_entries":0},
          {"peer_id":7,"peer":"10.0.0.2:6335","alive":false,"leads":false,"active":true,"lag_entries":12}]}})");
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(*table,
            "node                 peer                         alive  leads  active     lag\n"
            "9223372036854775807  10.0.0.1:6335                yes    yes    yes          0\n"
            "7                    10.0.0.2:6335                no     no     yes         12\n"
            "ledger up, 2 of 3 nodes must have a change\n");
}

TEST(ClusterStatus, NodesThatDrainAndCollectionsThatCannotMove) {
  const auto table = cluster_table(
      R"({"result":{"status":"enabled","n_nodes":2,"write_quorum":2,"ledger_up":true,"nodes":[
          {"peer_id":7,"draining":{"collections_left":0,"safe_to_stop":true}},
          {"peer_id":8,"draining":{"collections_left":2,"safe_to_stop":false,"trouble":"no room"}}],
          "placements":[{"collection":"docs","replicas":[],"trouble":"node 9 is away"}]}})");
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_NE(table->find("node 7 is drained and may be stopped\n"
                        "node 8 drains, collections left: 2; no room\n"),
            std::string::npos)
      << *table;
  EXPECT_TRUE(table->ends_with("collection docs: node 9 is away\n")) << *table;
}

constexpr std::string_view kTwoNodes =
    R"({"result":{"nodes":[{"peer_id":7,"peer":"a:6335"},
        {"peer_id":8,"peer":"b:6335","draining":{"collections_left":3,"safe_to_stop":false,"trouble":"t"}}]}})";

TEST(ClusterNodes, AreFoundByIdAndByPeerAddress) {
  EXPECT_EQ(find_node(kTwoNodes, "7"), 7U);
  EXPECT_EQ(find_node(kTwoNodes, "b:6335"), 8U);
  EXPECT_EQ(find_node(kTwoNodes, "9").error().code(), Code::kNotFound);
  EXPECT_EQ(find_node(R"({"result":{"status":"disabled"}})", "9").error().message(),
            "the server belongs to no cluster");
}

TEST(ClusterNodes, TellHowFarTheyAreDrained) {
  EXPECT_EQ(drain_progress(kTwoNodes, 7), DrainProgress());
  EXPECT_EQ(drain_progress(kTwoNodes, 8), (DrainProgress{true, 3, false, "t"}));
  EXPECT_EQ(drain_progress(kTwoNodes, 9).error().code(), Code::kNotFound);
}

TEST(ClusterStatus, OtherAnswers) {
  EXPECT_EQ(cluster_table(R"({"result":{"status":"disabled"}})").error().message(),
            "the server belongs to no cluster");
  EXPECT_EQ(cluster_table("{}").error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(cluster_table("<html>"));
}

}  // namespace
}  // namespace quiver::app
