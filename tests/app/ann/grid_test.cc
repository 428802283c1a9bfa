#include "app/ann/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ann/text_table.h"

namespace quiver::app {
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

TEST(TextTable, AlignsCharactersNotBytes) {
  TextTable table;
  table.add_column("µs");
  table.add_column("what", Align::kLeft);
  table.add_row({"1,234", "–"});
  table.add_row({"5", "long one"});
  EXPECT_EQ(table.to_string(),
            "   µs  what\n"
            "─────  ────────\n"
            "1,234  –\n"
            "    5  long one\n");
}

TEST(TextTable, Numbers) {
  EXPECT_EQ(grouped(0.12), "0.1");
  EXPECT_EQ(grouped(99.94), "99.9");
  EXPECT_EQ(grouped(123.4), "123");
  EXPECT_EQ(grouped(1234567.8), "1,234,568");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1536), "1.5 kB");
  EXPECT_EQ(bytes_text(2.5e9), "2.5 GB");
}

}  // namespace
}  // namespace quiver::app
