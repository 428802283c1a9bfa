#include "service/json/error.h"

#include <gtest/gtest.h>

#include <utility>

namespace quiver::service {
namespace {

template <class Parent>
concept CanHaveMember = requires(Parent parent) {
  std::forward<Parent>(parent).member("a");
};
template <class Parent>
concept CanHaveItem = requires(Parent parent) {
  std::forward<Parent>(parent).item(0);
};

// A path points to its parent, so a temporary must not become one.
static_assert(CanHaveMember<Path&> && CanHaveMember<const Path&>);
static_assert(CanHaveItem<Path&> && CanHaveItem<const Path&>);
static_assert(!CanHaveMember<Path> && !CanHaveMember<const Path>);
static_assert(!CanHaveItem<Path> && !CanHaveItem<const Path>);

TEST(Path, NamesTheWayFromTheBody) {
  const Path root;
  EXPECT_EQ(root.to_string(), "");
  const Path points = root.member("points");
  const Path point = points.item(3);
  EXPECT_EQ(point.member("vector").to_string(), "points[3].vector");
}

}  // namespace
}  // namespace quiver::service
