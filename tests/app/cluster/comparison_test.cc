#include "app/cluster/comparison.h"

#include <gtest/gtest.h>

namespace quiver::app {
namespace {

PointTexts page(const char* text) { return point_texts(*payload::parse_json(text)); }

TEST(ClusterComparison, FindsPointsThatAreNotAlike) {
  const auto one = page(R"([{"id":1,"payload":{"a":1}},{"id":2},{"id":"u"}])");
  const auto other = page(R"([{"id":1,"payload":{"a":2}},{"id":2},{"id":3}])");
  EXPECT_EQ(one.size(), 3U);
  EXPECT_TRUE(differing_ids({one, one, one}).empty());
  EXPECT_TRUE(differing_ids({}).empty());
  EXPECT_EQ(differing_ids({one, one, other}), (std::vector<std::string>{"\"u\"", "1", "3"}));
}

}  // namespace
}  // namespace quiver::app
