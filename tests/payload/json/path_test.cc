#include "payload/json/path.h"

#include <gtest/gtest.h>

namespace quiver::payload {
namespace {

/// The values under `path`, one after another.
std::string values(std::string_view document, std::string_view path) {
  std::string out;
  const Value value = *parse_json(document);
  for_each_value(value, *JsonPath::parse(path),
                 [&](const Value& found) { out += to_json(found) + " "; });
  return out;
}
std::string elements(std::string_view document, std::string_view path) {
  std::string out;
  const Value value = *parse_json(document);
  for_each_element(value, *JsonPath::parse(path),
                   [&](const Value& found) { out += to_json(found) + " "; });
  return out;
}

TEST(JsonPath, TextsRoundTrip) {
  for (const char* text : {"a", "a.b", "a[0]", "a[].b", "\"a.b\"", "\"a b\".c[12][]", "a-b_9",
                           "\xC3\xBC.x", "a[1][50].bar-baz[].\"qux[.]quux\"", "\"\""}) {
    const auto path = JsonPath::parse(text);
    ASSERT_TRUE(path) << text;
    EXPECT_EQ(path->to_string(), text);
  }
  EXPECT_EQ(JsonPath::parse("\"a\".b")->to_string(), "a.b");
}

TEST(JsonPath, RefusesMalformedTexts) {
  for (const char* text :
       {"", ".", ".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a]", "[0]", "[]", "a b", "\"a",
        "a\"b\"", "a[0]b", "a.[0]", "a[99999999999999999999]", "\"a\\\"b\"", "a,b"}) {
    const auto path = JsonPath::parse(text);
    ASSERT_FALSE(path) << text;
    EXPECT_EQ(path.error().code(), Code::kInvalidArgument);
    EXPECT_EQ(path.error().message(), "Invalid json path: '" + std::string(text) + "'");
  }
}

TEST(JsonPath, StepsEnterWhatTheyNameOnly) {
  const char* document =
      R"({"a":{"b":1,"c":[1,2]},"r":[{"x":1},{"x":[2,3]},{"y":4},5],"a.b":7,"n":null})";
  EXPECT_EQ(values(document, "a.b"), "1 ");
  EXPECT_EQ(values(document, "\"a.b\""), "7 ");
  EXPECT_EQ(values(document, "a.c"), "[1,2] ");
  EXPECT_EQ(elements(document, "a.c"), "1 2 ");
  EXPECT_EQ(values(document, "a.c[]"), "1 2 ");
  EXPECT_EQ(values(document, "a.c[1]"), "2 ");
  EXPECT_EQ(values(document, "a.c[2]"), "");
  EXPECT_EQ(values(document, "r.x"), "");
  EXPECT_EQ(values(document, "r[].x"), "1 [2,3] ");
  EXPECT_EQ(elements(document, "r[].x"), "1 2 3 ");
  EXPECT_EQ(values(document, "r[1].x[0]"), "2 ");
  EXPECT_EQ(values(document, "a[]"), "");
  EXPECT_EQ(values(document, "n"), "null ");
  EXPECT_EQ(values(document, "n.x"), "");
}

TEST(JsonPath, EachAndJoin) {
  EXPECT_EQ(JsonPath::parse("a.b")->each().to_string(), "a.b[]");
  EXPECT_EQ(JsonPath::parse("a[]")->each().to_string(), "a[]");
  EXPECT_EQ(JsonPath::parse("a[]")->join(*JsonPath::parse("b.c")).to_string(), "a[].b.c");
}

}  // namespace
}  // namespace quiver::payload
