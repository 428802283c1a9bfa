// Formulas of messages: the trees and errors that JSON has.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "service/grpc/messages/decode.h"
#include "tests/service/json/formula_text.h"

namespace quiver::service::rpc {
namespace {

std::string decoded(const std::string& text) {
  qdrant::Formula message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  const auto formula = decode_formula(message, Path());
  if (!formula) return std::to_string(formula.error().status) + " " + formula.error().text;
  return formula_text(*formula);
}
std::string decoded_expression(const std::string& text) {
  return decoded("expression {" + text + "}");
}

TEST(DecodeFormulaMessage, EveryOperation) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"constant: 0.1", "0.10000000149011612"},
      {"variable: '$score[2]'", "$score[2]"},
      {"variable: 'a.b'", "number a.b of type 0"},
      {"condition { has_id { has_id { num: 1 } } }", "condition 0 of kind 1"},
      {"geo_distance { origin { lon: 1.5 lat: -2 } to: 'a' }",
       "distance from 1.5,-2 to a of type 1"},
      {"datetime: '1970-01-02'", "86400"},
      {"datetime_key: 'at'", "time at of type 2"},
      {"mult { mult { constant: 1 } mult { constant: 2 } }", "mult(1, 2)"},
      {"sum { sum { constant: 1 } sum { neg { constant: 2 } } }", "sum(1, neg(2))"},
      {"div { left { constant: 1 } right { constant: 2 } by_zero_default: 0 }", "div or 0(1, 2)"},
      {"div { left { constant: 1 } right { constant: 2 } }", "div(1, 2)"},
      {"abs { constant: 1 }", "abs(1)"},
      {"sqrt { constant: 1 }", "sqrt(1)"},
      {"pow { base { constant: 1 } exponent { constant: 2 } }", "pow(1, 2)"},
      {"exp { constant: 1 }", "exp(1)"},
      {"log10 { constant: 1 }", "log10(1)"},
      {"ln { constant: 1 }", "ln(1)"},
      {"exp_decay { x { constant: 1 } scale: 2 }", "exp_decay -0.34657(1)"},
      {"gauss_decay { x { constant: 1 } target { constant: 2 } scale: 2 midpoint: 0.25 }",
       "gauss_decay -0.34657(1, 2)"},
      {"lin_decay { x { constant: 1 } scale: 4 midpoint: 0 }", "lin_decay 0.25(1)"},
  };
  for (const auto& [message, text] : cases) EXPECT_EQ(decoded_expression(message), text);
}

TEST(DecodeFormulaMessage, Defaults) {
  EXPECT_EQ(decoded("expression { variable: 'a' } "
                    "defaults { key: 'a' value { list_value { values { integer_value: 1 } } } } "
                    "defaults { key: '$score[1]' value { double_value: 0.5 } }"),
            "number a of type 0 or [1]; $score[1] or 0.5");
  EXPECT_EQ(decoded("expression { constant: 1 } defaults { key: '$a' value { integer_value: 1 } }"),
            "422 Validation error in JSON body: [defaults: Invalid reserved word: $a]");
}

TEST(DecodeFormulaMessage, PartsThatAreMissing) {
  EXPECT_NE(decoded("").find("missing field: expression"), std::string::npos);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "variant"},
      {"neg {}", "variant"},
      {"div { right { constant: 1 } }", "left"},
      {"div { left { constant: 1 } }", "right"},
      {"pow { exponent { constant: 1 } }", "base"},
      {"pow { base { constant: 1 } }", "exponent"},
      {"geo_distance { to: 'a' }", "origin"},
      {"lin_decay {}", "x"},
  };
  for (const auto& [message, field] : cases) {
    const auto text = decoded_expression(message);
    EXPECT_TRUE(text.starts_with("400 Format error")) << text;
    EXPECT_NE(text.find("missing field: " + field), std::string::npos) << text;
  }
  EXPECT_TRUE(decoded_expression("condition {}").starts_with("400 "));
}

TEST(DecodeFormulaMessage, ErrorsAreThoseOfJson) {
  EXPECT_EQ(decoded_expression("variable: '$x'"),
            "400 Wrong input: Validation failed: failed to parse variable ID $x: Invalid reserved "
            "word: $x");
  EXPECT_EQ(decoded_expression("exp_decay { x { constant: 1 } midpoint: nan }"),
            "400 Wrong input: Validation failed: Decay midpoint should be in the range (0.0, 1.0), "
            "got nan.");
  EXPECT_TRUE(
      decoded_expression("geo_distance { origin { lon: nan } to: 'a' }").starts_with("400 "));
}

TEST(DecodeFormulaMessage, Depth) {
  qdrant::Formula message;
  auto* expression = message.mutable_expression();
  for (std::size_t i = 1; i < engine::formula::kMaxDepth; ++i)
    expression = expression->mutable_neg();
  auto* deeper = expression->mutable_neg();
  deeper->set_constant(1);
  EXPECT_FALSE(decode_formula(message, Path()));
  expression->set_constant(1);
  EXPECT_TRUE(decode_formula(message, Path()));
}

}  // namespace
}  // namespace quiver::service::rpc
