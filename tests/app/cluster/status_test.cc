#include "app/cluster/status.h"

#include <gtest/gtest.h>

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

TEST(ClusterStatus, OtherAnswers) {
  EXPECT_EQ(cluster_table(R"({"result":{"status":"disabled"}})").error().message(),
            "the server belongs to no cluster");
  EXPECT_EQ(cluster_table("{}").error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(cluster_table("<html>"));
}

}  // namespace
}  // namespace quiver::app
