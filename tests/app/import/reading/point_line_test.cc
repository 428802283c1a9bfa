#include "app/import/reading/point_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace quiver::app {
namespace {

using testing::HasSubstr;

TEST(PointLineTest, MembersThatAreKnown) {
  const auto read = [](std::string line) { return read_point_line(line, {}); };
  for (const char* line : {R"({"id":9,"vector":[1,2]})", R"({"id":9,"vectors":[1,2]})"}) {
    const auto point = read(line);
    ASSERT_TRUE(point) << point.error().message();
    EXPECT_EQ(point->id, PointId::number(9));
    ASSERT_EQ(point->vectors.size(), 1U);
    EXPECT_EQ(std::get<engine::DenseVector>(point->vectors[0].value), (engine::DenseVector{1, 2}));
  }
  EXPECT_TRUE(read("{}"));
  const auto unknown = read(R"({"id":9,"vectr":[1,2]})");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(),
              HasSubstr("`vectr`, expected one of `id`, `vector`, `vectors`, `payload`"));
  const auto both = read(R"({"id":9,"vector":[1,2],"vectors":{"a":[1,2]}})");
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message(), HasSubstr("found both `vector` and `vectors`"));
}

}  // namespace
}  // namespace quiver::app
