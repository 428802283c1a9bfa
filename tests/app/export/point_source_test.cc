#include "app/export/point_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CollectionFactsTest, FromTheDescriptionOfACollection) {
  const auto facts =
      parse_facts(R"({"points_count":7,"config":{"params":{"vectors":{"size":4,"distance":"Dot"}},)"
                  R"("optimizer_config":{"deleted_threshold":0.5},"metadata":null},)"
                  R"("payload_schema":{"year":{"data_type":"integer","points":7}}})");
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_EQ(facts->n_points, 7U);
  ASSERT_EQ(facts->fields.size(), 1U);
  EXPECT_EQ(facts->fields[0].dim, 4U);
  EXPECT_EQ(
      facts->create,
      R"({"vectors":{"size":4,"distance":"Dot"},"optimizers_config":{"deleted_threshold":0.5}})");
  EXPECT_THAT(facts->indexes, ElementsAre(R"({"field_name":"year","field_schema":"integer"})"));
}

TEST(CollectionFactsTest, MissingMembersAreNamed) {
  const auto facts = parse_facts(R"({"points_count":7})");
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message(), HasSubstr("has no \"config\""));
}

}  // namespace
}  // namespace quiver::app
