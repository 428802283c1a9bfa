#include "app/config/cluster_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string outcome(const ClusterSettings& settings) {
  const auto checked = check_cluster(settings);
  return checked ? "" : checked.error().message();
}

ClusterSettings three(std::string secret = "s") {
  ClusterSettings settings;
  settings.peers = "a, b:7000 ,[::2]:6335";
  settings.secret = std::move(secret);
  return settings;
}

TEST(ClusterSettingsTest, ReadsPeers) {
  EXPECT_THAT(
      parse_peers("a, b:7000 ,[::2]:6335").value(),
      ElementsAre(PeerAddress{"a", 6335}, PeerAddress{"b", 7000}, PeerAddress{"::2", 6335}));
  EXPECT_EQ(peer_text({"::2", 6335}), "[::2]:6335");
  EXPECT_TRUE(parse_peers("").value().empty());
  for (const std::string wrong : {"a:x", "a/b", "a:0", "a:70000"}) {
    const auto peers = parse_peers(wrong);
    ASSERT_FALSE(peers) << wrong;
    EXPECT_THAT(peers.error().message(), HasSubstr("cluster.peers: "));
  }
  EXPECT_THAT(parse_peers("a,b,a:6335").error().message(), HasSubstr("a:6335 twice"));
}

TEST(ClusterSettingsTest, SaysWhatIsMissing) {
  EXPECT_EQ(outcome({}), "");
  EXPECT_EQ(outcome(three()), "");
  EXPECT_THAT(outcome(three("")), HasSubstr("cluster.secret is empty"));
  EXPECT_THAT(outcome(three("two words")), HasSubstr("visible ASCII"));
  ClusterSettings local;
  local.peers = "127.0.0.1:1,localhost:2,[::1]:3";
  EXPECT_EQ(outcome(local), "");
  ClusterSettings advertised = three();
  advertised.advertise = "a:6335";
  EXPECT_EQ(outcome(advertised), "");
  advertised.advertise = "b";
  EXPECT_THAT(outcome(advertised), HasSubstr("cluster.advertise is b:6335, which cluster.peers"));
}

}  // namespace
}  // namespace quiver::app
