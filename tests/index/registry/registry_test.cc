#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "index/exact/searcher.h"
#include "tests/index/exact/exact_support.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

TEST(Registry, FlatIsFirstAndNamesAreUnique) {
  const auto types = index_types();
  ASSERT_FALSE(types.empty());
  EXPECT_EQ(types[0]->name, "flat");
  for (const IndexType* type : types) EXPECT_EQ(find_index_type(type->name), type);
  EXPECT_EQ(find_index_type("no such type"), nullptr);
}

}  // namespace
}  // namespace quiver::index::testing
