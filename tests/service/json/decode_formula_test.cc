#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "service/json/decode/decode.h"
#include "tests/service/json/formula_text.h"

namespace quiver::service::json {
namespace {

/// What is made of a formula, or its error.
std::string decoded(const std::string& formula, const std::string& more = "") {
  std::string body = R"({"prefetch":{"query":[1]},"query":{"formula":)" + formula + more + "}}";
  const auto query = decode_query(body);
  if (!query) return std::to_string(query.error().status) + " " + query.error().text;
  return formula_text(std::get<engine::Formula>(query->kind));
}

TEST(DecodeFormula, Leaves) {
  EXPECT_EQ(decoded("2"), "2");
  EXPECT_EQ(decoded("-0.5"), "-0.5");
  EXPECT_EQ(decoded("0.1"), "0.10000000149011612") << "constants are floats, as over gRPC";
  EXPECT_EQ(decoded(R"("$score")"), "$score[0]");
  EXPECT_EQ(decoded(R"("$score[3]")"), "$score[3]");
  EXPECT_EQ(decoded(R"("a.b[0].c")"), "number a.b[0].c of type 0");
  EXPECT_EQ(decoded(R"({"datetime":"1970-01-02"})"), "86400");
  EXPECT_EQ(decoded(R"({"datetime_key":"at"})"), "time at of type 2");
  EXPECT_EQ(decoded(R"({"geo_distance":{"origin":{"lon":1.5,"lat":-2},"to":"here"}})"),
            "distance from 1.5,-2 to here of type 1");
}

TEST(DecodeFormula, Operations) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"mult":[1,"$score"]})", "mult(1, $score[0])"},
      {R"({"sum":[]})", "sum"},
      {R"({"sum":[1,{"neg":2}]})", "sum(1, neg(2))"},
      {R"({"abs":1})", "abs(1)"},
      {R"({"sqrt":1})", "sqrt(1)"},
      {R"({"exp":1})", "exp(1)"},
      {R"({"log10":1})", "log10(1)"},
      {R"({"ln":1})", "ln(1)"},
      {R"({"pow":{"base":2,"exponent":3}})", "pow(2, 3)"},
      {R"({"div":{"left":1,"right":2}})", "div(1, 2)"},
      {R"({"div":{"left":1,"right":2,"by_zero_default":0.5}})", "div or 0.5(1, 2)"},
      {R"({"lin_decay":{"x":1}})", "lin_decay 0.5(1)"},
      {R"({"lin_decay":{"x":1,"target":2,"scale":4,"midpoint":0}})", "lin_decay 0.25(1, 2)"},
      {R"({"exp_decay":{"x":1,"scale":2}})", "exp_decay -0.34657(1)"},
      {R"({"gauss_decay":{"x":1,"target":{"neg":1},"scale":2,"midpoint":0.25}})",
       "gauss_decay -0.34657(1, neg(1))"},
  };
  for (const auto& [json, text] : cases) EXPECT_EQ(decoded(json), text);
}

TEST(DecodeFormula, ConditionsOfEveryKind) {
  EXPECT_EQ(decoded(R"({"key":"a","match":{"value":1}})"), "condition 0 of kind 0");
  EXPECT_EQ(decoded(R"({"has_id":[1]})"), "condition 0 of kind 1");
  EXPECT_EQ(decoded(R"({"has_vector":"v"})"), "condition 0 of kind 2");
  EXPECT_EQ(decoded(R"({"nested":{"key":"a","filter":{}}})"), "condition 0 of kind 3");
  EXPECT_EQ(decoded(R"({"must_not":[{"is_empty":{"key":"a"}}]})"), "condition 0 of kind 4");
  EXPECT_EQ(decoded("{}"), "condition 0 of kind 4") << "true for every point";
  EXPECT_EQ(decoded(R"({"sum":[{"is_null":{"key":"a"}},{"slice":{"total":2,"index":1}}]})"),
            "sum(condition 0 of kind 0, condition 1 of kind 5)");
}

TEST(DecodeFormula, Defaults) {
  EXPECT_EQ(decoded(R"({"sum":["a","b","$score[1]"]})",
                    R"(,"defaults":{"\"a\"":[1],"$score":2,"$score[1]":0.5,"c":null})"),
            "sum(number a of type 0 or [1], number b of type 0, $score[1]); $score[0] or 2; "
            "$score[1] or 0.5");
  EXPECT_EQ(
      decoded(R"({"sum":["a",{"datetime_key":"a"},"a"]})", R"(,"defaults":{"a":"x"})"),
      "sum(number a of type 0 or \"x\", time a of type 2 or \"x\", number a of type 0 or \"x\")");
  const std::string where = "422 Validation error in JSON body: [internal.query.defaults: ";
  EXPECT_EQ(decoded("1", R"(,"defaults":{"$other":1})"), where + "Invalid reserved word: $other]");
  EXPECT_EQ(decoded("1", R"(,"defaults":{"a..b":1})"), where + "Invalid payload variable: a..b]");
  EXPECT_EQ(decoded("1", R"(,"defaults":{"$score":"1"})"),
            where + "Score default must be a number]");
  EXPECT_TRUE(decoded("1", R"(,"defaults":[1])").starts_with("400 Format error"));
}

TEST(DecodeFormula, VariablesThatAreNone) {
  const std::string failed = "400 Wrong input: Validation failed: failed to parse variable ID ";
  EXPECT_EQ(decoded(R"("$other")"), failed + "$other: Invalid reserved word: $other");
  for (const std::string name : {"$score[1][2]", "$score.a", "$score[]", "$", "$score["}) {
    EXPECT_EQ(decoded("\"" + name + "\""), failed + name + ": Invalid reserved variable: " + name);
  }
  EXPECT_EQ(decoded(R"("a[")"), failed + "a[: Invalid payload variable: a[");
  EXPECT_EQ(decoded(R"("")"), failed + ": Invalid payload variable: ");
  EXPECT_EQ(decoded(R"({"datetime_key":"a["})"), "400 Wrong input: invalid payload key: a[");
  EXPECT_EQ(decoded(R"({"datetime":"yesterday"})"),
            "400 Wrong input: Validation failed: failed to parse date-time yesterday: expected a "
            "datetime (RFC 3339)");
}

TEST(DecodeFormula, ParametersOfDecays) {
  const std::string failed = "400 Wrong input: Validation failed: ";
  for (const std::string kind : {"gauss_decay", "exp_decay"}) {
    for (const std::string midpoint : {"0", "1", "-1", "1.5"}) {
      std::string body = "{\"" + kind + R"(":{"x":1,"midpoint":)" + midpoint + "}}";
      EXPECT_EQ(decoded(body),
                failed + "Decay midpoint should be in the range (0.0, 1.0), got " + midpoint + ".");
    }
  }
  EXPECT_EQ(decoded(R"({"lin_decay":{"x":1,"midpoint":1.5}})"),
            failed + "Linear decay midpoint should be in the range [0.0, 1.0], got 1.5.");
  EXPECT_EQ(decoded(R"({"lin_decay":{"x":1,"scale":0}})"),
            failed + "Decay scale should be non-zero positive, got 0.");
  EXPECT_EQ(decoded(R"({"exp_decay":{"x":1,"scale":-2}})"),
            failed + "Decay scale should be non-zero positive, got -2.");
}

TEST(DecodeFormula, WhatIsNoExpression) {
  const std::string at = "400 Format error in JSON body: internal.query.formula";
  EXPECT_EQ(decoded("true"),
            at + ": invalid type: boolean `true`, expected a number, a variable, an "
                 "operation or a condition");
  EXPECT_TRUE(decoded("[1]").starts_with(at));
  EXPECT_EQ(decoded(R"({"max":[1]})"), at + R"(: {"max":[1]} is no known operation or condition)");
  EXPECT_TRUE(decoded(R"({"sum":[1,{"neg":null}]})").starts_with(at + ".sum[1]: "));
  EXPECT_TRUE(decoded(R"({"mult":1})").starts_with(at + ".mult: "));
  EXPECT_TRUE(decoded(R"({"div":{"left":1}})").starts_with(at + ".div: missing field `right`"));
  EXPECT_TRUE(decoded(R"({"pow":{"base":1}})").starts_with(at + ".pow: missing field `exponent`"));
  EXPECT_TRUE(decoded(R"({"exp_decay":{}})").starts_with(at + ".exp_decay: missing field `x`"));
  EXPECT_TRUE(decoded(R"({"key":"a","match":{"valeu":1}})").starts_with(at + ".match: "));
  EXPECT_TRUE(decoded("1e300").starts_with(at));
  EXPECT_TRUE(decoded(R"({"geo_distance":{"origin":{"lon":1},"to":"a"}})").starts_with(at));
  EXPECT_EQ(
      decoded(R"({"geo_distance":{"origin":{"lon":181,"lat":0},"to":"a"}})"),
      "400 Wrong input: the origin of geo_distance is at lon 181 and lat 0, must be from -180 "
      "to 180 and from -90 to 90");
}

std::string nested(std::size_t depth) {
  std::string text = "1";
  for (std::size_t i = 1; i < depth; ++i) text = R"({"neg":)" + text + "}";
  return text;
}

TEST(DecodeFormula, Depth) {
  EXPECT_TRUE(decoded(nested(120)).starts_with("neg(neg("));
  EXPECT_NE(decoded(nested(121)).find("the formula nests deeper than 120 expressions"),
            std::string::npos);
}

TEST(DecodeFormula, NeedsPrefetches) {
  std::string body = R"({"query":{"formula":1}})";
  const auto query = decode_query(body);
  ASSERT_FALSE(query);
  EXPECT_EQ(query.error().status, 400);
  EXPECT_EQ(query.error().text,
            "Wrong input: Validation failed: cannot apply Formula without prefetches");
}

}  // namespace
}  // namespace quiver::service::json
