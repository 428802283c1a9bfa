#include "index/dense/ways.h"

#include <gtest/gtest.h>

namespace quiver::index::dense {
namespace {

TEST(Ways, AreCheapestFirst) {
  Ways ways;
  EXPECT_TRUE(ways.all().empty());
  ways.add(Way::kExact, 30);
  ways.add(Way::kLists, 10);
  ways.add(Way::kSigns, 20);
  ways.add(Way::kGraph, 10);
  ASSERT_EQ(ways.all().size(), 4U);
  EXPECT_EQ(ways.all()[0].way, Way::kLists);
  EXPECT_EQ(ways.all()[1].way, Way::kGraph) << "costs as much, was added later";
  EXPECT_EQ(ways.all()[2].way, Way::kSigns);
  EXPECT_EQ(ways.all()[3].way, Way::kExact);
}

TEST(Ways, TheCheapestSureWayBoundsTheOthers) {
  Ways ways;
  ways.add(Way::kExact, 30);
  EXPECT_EQ(ways.sure_bytes(), 30);
  ways.add(Way::kLists, 10);
  EXPECT_EQ(ways.sure_bytes(), 30);
  ways.add(Way::kSigns, 20);
  EXPECT_EQ(ways.sure_bytes(), 20);
}

}  // namespace
}  // namespace quiver::index::dense
