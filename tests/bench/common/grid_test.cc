#include "bench/common/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::bench {
namespace {

using testing::HasSubstr;

Result<std::vector<KeyValues>> grid(std::vector<std::string> sweeps) { return parse_grid(sweeps); }

TEST(KeyValues, NumbersBoolsAndTexts) {
  const auto values = parse_key_values("a=1,b=0.5,c=true,d=text,e=-3,f=1e3");
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at("a"), ParamValue(std::int64_t{1}));
  EXPECT_EQ(values->at("b"), ParamValue(0.5));
  EXPECT_EQ(values->at("c"), ParamValue(true));
  EXPECT_EQ(values->at("d"), ParamValue(std::string("text")));
  EXPECT_EQ(values->at("e"), ParamValue(std::int64_t{-3}));
  EXPECT_EQ(values->at("f"), ParamValue(1000.0));
  EXPECT_TRUE(parse_key_values("")->empty());
}

TEST(KeyValues, WhatIsNoneIsNamed) {
  for (const char* text : {"a", "=1", "a=", "a=1,,b=2", "a=1,b"}) {
    const auto values = parse_key_values(text);
    ASSERT_FALSE(values) << text;
    EXPECT_THAT(values.error().message(), HasSubstr(text));
  }
  EXPECT_THAT(parse_key_values("a=1,a=2").error().message(), HasSubstr("`a` is given twice"));
}

TEST(Grid, EveryCombinationLastFastest) {
  const auto points = grid({"x=1,2", "y=a,b,c"});
  ASSERT_TRUE(points);
  std::vector<std::string> texts;
  for (const auto& point : *points) texts.push_back(to_string(point));
  EXPECT_THAT(texts, testing::ElementsAre("x=1 y=\"a\"", "x=1 y=\"b\"", "x=1 y=\"c\"",
                                          "x=2 y=\"a\"", "x=2 y=\"b\"", "x=2 y=\"c\""));
  EXPECT_EQ(grid({})->size(), 1);
  EXPECT_TRUE(grid({})->front().empty());
}

TEST(Grid, WhatIsNoneIsNamed) {
  for (const char* text : {"x", "=1,2", "x=", "x=1,,2"}) {
    const auto points = grid({text});
    ASSERT_FALSE(points) << text;
    EXPECT_THAT(points.error().message(), HasSubstr(text));
  }
  EXPECT_THAT(grid({"x=1", "x=2"}).error().message(), HasSubstr("`x` is swept twice"));
  std::string many = "x=1";
  for (int i = 2; i <= 101; ++i) many += "," + std::to_string(i);
  EXPECT_THAT(grid({many, "y" + many.substr(1)}).error().message(), HasSubstr("10000"));
}

}  // namespace
}  // namespace quiver::bench
