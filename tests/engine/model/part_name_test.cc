#include "engine/model/part_name.h"

#include <gtest/gtest.h>

namespace quiver::engine {
namespace {

TEST(PartName, IsReadAsItIsWritten) {
  for (const std::string collection : {"docs", "a/b", ""}) {
    for (const std::uint32_t part : {0U, 7U, 15U}) {
      const auto parsed = parse_part_name(part_name(collection, part));
      ASSERT_TRUE(parsed) << part_name(collection, part);
      EXPECT_EQ(parsed->collection, collection);
      EXPECT_EQ(parsed->part, part);
    }
  }
  EXPECT_EQ(part_name("docs", 3), "docs/3");
}

TEST(PartName, OtherNamesAreThoseOfCollections) {
  for (const char* name :
       {"", "docs", "docs/", "docs/x", "docs/1x", "docs/-1", "docs/4294967296"}) {
    EXPECT_FALSE(parse_part_name(name)) << name;
  }
}

}  // namespace
}  // namespace quiver::engine
