#include "engine/query/joins/node_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace quiver::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NodeLinks, CountEitherWayAndOnce) {
  const std::vector<NodeLink> links{{0, 2}, {2, 0}, {0, 2}, {1, 1}, {3, 0}};
  const NodeLinks found(5, links);
  EXPECT_EQ(found.n_nodes(), 5U);
  EXPECT_THAT(found.of(0), ElementsAre(2, 3));
  EXPECT_THAT(found.of(1), IsEmpty());
  EXPECT_THAT(found.of(2), ElementsAre(0));
  EXPECT_THAT(found.of(3), ElementsAre(0));
  EXPECT_THAT(found.of(4), IsEmpty());
  EXPECT_EQ(NodeLinks(0, {}).n_nodes(), 0U);
}

TEST(NodeLinks, EqualSetsOfPairs) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const std::uint32_t n = 1 + random() % 30;
    std::vector<NodeLink> links(random() % 200);
    std::set<std::pair<std::uint32_t, std::uint32_t>> wanted;
    for (NodeLink& link : links) {
      link = {static_cast<std::uint32_t>(random() % n), static_cast<std::uint32_t>(random() % n)};
      if (link.from == link.to) continue;
      wanted.insert({link.from, link.to});
      wanted.insert({link.to, link.from});
    }
    const NodeLinks found(n, links);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t node = 0; node < n; ++node) {
      for (const std::uint32_t other : found.of(node)) pairs.emplace_back(node, other);
    }
    EXPECT_TRUE(std::ranges::equal(pairs, wanted)) << "round " << round;
  }
}

}  // namespace
}  // namespace quiver::engine
