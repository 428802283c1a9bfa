// Each operation against values that are worked out by hand, and random trees whose values are
// computed while they are made.
#include "engine/query/formula/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace quiver::engine::testing {
namespace {

using formula::Constant;
using formula::Decay;
using formula::DecayShape;
using formula::Expression;
using formula::Function;
using formula::Node;
using formula::ValueType;

constexpr const char* kPayload = R"({
  "n": 3, "big": 18446744073709551615, "half": 0.5, "one": [4, null], "two": [1, 2], "none": [],
  "null": null, "text": "x", "on": true, "deep": {"n": [7]}, "items": [{"n": 2}, {"n": 5}],
  "lists": [[1], [2, 3]], "at": "2024-01-01T00:00:01.5Z", "day": "2024-01-01",
  "here": {"lon": -100.23881855976, "lat": 25.628482424190565}, "off": {"lon": 200, "lat": 0}})";

class FakePoint final : public FormulaPoint {
 public:
  std::map<std::uint64_t, float> scores = {{0, 1.5F}, {1, -2}};
  std::vector<bool> truths = {true, false};
  int n_documents = 0;
  bool has_index = true;

  [[nodiscard]] std::optional<float> score(std::uint64_t prefetch) const override {
    const auto found = scores.find(prefetch);
    return found == scores.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] Result<const payload::Value*> document() override {
    ++n_documents;
    return &document_;
  }
  [[nodiscard]] bool holds(std::size_t condition) const override { return truths[condition]; }
  [[nodiscard]] bool is_indexed(std::size_t /*variable*/) const override { return has_index; }

 private:
  payload::Value document_ = payload::parse_json(kPayload).value();
};

Expression number(double value) { return {Constant{value}}; }
Expression of(Node node, std::vector<Expression> operands) {
  return {std::move(node), std::move(operands)};
}

/// A formula with the one variable `key`.
Formula with_variable(const std::string& key, ValueType type, Node node) {
  Formula formula{{std::move(node)}};
  formula.variables = {{payload::JsonPath::parse(key).value(), type}};
  return formula;
}
Formula number_under(const std::string& key) {
  return with_variable(key, ValueType::kNumber, formula::Number{0});
}
Formula time_under(const std::string& key) {
  return with_variable(key, ValueType::kDatetime, formula::Time{0});
}
Formula distance_to(const std::string& key) {
  const payload::GeoPoint origin{-100.43383200156751, 25.717877679163667};
  return with_variable(key, ValueType::kGeoPoint, formula::GeoDistance{origin, 0});
}

double value_of(const Formula& formula) {
  FakePoint point;
  const auto value = evaluate(formula, point);
  EXPECT_TRUE(value) << value.error().message();
  return value ? static_cast<double>(*value) : std::nan("");
}
double value_of(Expression root) { return value_of(Formula{std::move(root)}); }

std::string error_of(const Formula& formula) {
  FakePoint point;
  const auto value = evaluate(formula, point);
  if (value) return "none";
  EXPECT_EQ(value.error().code(), Code::kInvalidArgument);
  return value.error().message();
}
std::string error_of(Expression root) { return error_of(Formula{std::move(root)}); }

std::string non_finite(const std::string& expression) {
  return "The expression " + expression + " produced a non-finite number";
}
std::string wrong_value(const std::string& type, const std::string& key, const std::string& why) {
  return "Expected " + type + " value for " + key +
         " in the payload and/or in the formula defaults. Error: " + why;
}

TEST(Evaluate, ScoresOfPrefetches) {
  EXPECT_EQ(value_of(Expression{formula::Score{0}}), 1.5);
  EXPECT_EQ(value_of(Expression{formula::Score{1}}), -2);
  EXPECT_EQ(value_of(Expression{formula::Score{2}}), 0) << "neither found nor a default";
  Formula formula{{formula::Score{2}}};
  formula.default_scores = {{1, 8}, {2, 0.25}};
  EXPECT_EQ(value_of(formula), 0.25);
  formula.root = {formula::Score{1}};
  EXPECT_EQ(value_of(formula), -2);
}

TEST(Evaluate, ConditionsAreOneOrZero) {
  EXPECT_EQ(value_of(Expression{formula::Holds{0}}), 1);
  EXPECT_EQ(value_of(Expression{formula::Holds{1}}), 0);
}

TEST(Evaluate, NumbersOfThePayload) {
  EXPECT_EQ(value_of(number_under("n")), 3);
  EXPECT_EQ(value_of(number_under("half")), 0.5);
  EXPECT_EQ(value_of(number_under("big")), std::ldexp(1.0, 64));
  EXPECT_EQ(value_of(number_under("one")), 4) << "an array of one";
  EXPECT_EQ(value_of(number_under("one[]")), 4);
  EXPECT_EQ(value_of(number_under("two[1]")), 2);
  EXPECT_EQ(value_of(number_under("deep.n")), 7);
  EXPECT_EQ(value_of(number_under("items[1].n")), 5);
  EXPECT_EQ(value_of(number_under("lists[0]")), 1);
  for (const char* key : {"two", "items[].n", "text", "on", "here", "lists", "lists[]"}) {
    EXPECT_EQ(error_of(number_under(key)), wrong_value("number", key, "Value is not a number"));
  }
  for (const char* key : {"none", "null", "nosuch", "n.deeper", "two[2]", "items.n"}) {
    EXPECT_EQ(error_of(number_under(key)),
              wrong_value("number", key, "No value found in a payload nor defaults"));
  }
}

TEST(Evaluate, DefaultsStandForMissingValues) {
  const auto with_default = [](Formula formula, const char* json) {
    formula.variables[0].otherwise = payload::parse_json(json).value();
    return formula;
  };
  EXPECT_EQ(value_of(with_default(number_under("nosuch"), "0.75")), 0.75);
  EXPECT_EQ(value_of(with_default(number_under("none"), "2")), 2);
  EXPECT_EQ(value_of(with_default(number_under("n"), "2")), 3);
  EXPECT_EQ(value_of(with_default(time_under("nosuch"), R"("1970-01-02")")), 86400);
  EXPECT_NEAR(value_of(with_default(distance_to("nosuch"), R"({"lon":-100,"lat":25})")), 90951.296,
              0.01);
  for (const char* json : {"null", "[]", "[1]", R"("1")", "true"}) {
    EXPECT_EQ(error_of(with_default(number_under("nosuch"), json)),
              wrong_value("number", "nosuch", "Value is not a number"));
  }
  EXPECT_EQ(value_of(with_default(number_under("null"), "2")), 2);
}

TEST(Evaluate, NullUnderAKeyWithoutAnIndexIsAValue) {
  for (const char* key : {"null", "one"}) {
    Formula formula = number_under(key);
    formula.variables[0].otherwise = payload::parse_json("2").value();
    FakePoint point;
    point.has_index = false;
    const auto value = evaluate(formula, point);
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().message(), wrong_value("number", key, "Value is not a number"));
  }
}

TEST(Evaluate, DistancesOnTheGlobe) {
  EXPECT_NEAR(value_of(distance_to("here")), 21926.494, 0.01);
  EXPECT_EQ(error_of(distance_to("n")), wrong_value("geo point", "n", "Value is not a geo point"));
  EXPECT_EQ(error_of(distance_to("off")),
            wrong_value("geo point", "off", "Value is not a geo point"));
  EXPECT_EQ(error_of(distance_to("nosuch")),
            wrong_value("geo point", "nosuch", "No value found in a payload nor defaults"));
}

TEST(Evaluate, TimesAreSeconds) {
  EXPECT_EQ(value_of(time_under("day")), 1704067200);
  Formula formula = time_under("at");
  formula.root = of(formula::Sum{}, {{formula::Time{0}}, number(-1704067200)});
  EXPECT_EQ(value_of(formula), 1.5);
  EXPECT_EQ(error_of(time_under("n")), wrong_value("datetime", "n", "Value is not a string"));
  EXPECT_EQ(error_of(time_under("text")),
            wrong_value("datetime", "text", "Value is not a datetime"));
}

TEST(Evaluate, SumsAndProducts) {
  EXPECT_EQ(value_of(of(formula::Sum{}, {number(1), number(2), number(-0.5)})), 2.5);
  EXPECT_EQ(value_of(of(formula::Sum{}, {})), 0);
  EXPECT_EQ(value_of(of(formula::Product{}, {number(3), number(2), number(-0.5)})), -3);
  EXPECT_EQ(value_of(of(formula::Product{}, {})), 1);
}

TEST(Evaluate, AZeroEndsAProductAndAQuotient) {
  Formula formula = number_under("nosuch");
  const Expression fails{formula::Number{0}};
  formula.root = of(formula::Product{}, {number(0), fails});
  EXPECT_EQ(value_of(formula), 0);
  formula.root = of(formula::Product{}, {fails, number(0)});
  EXPECT_NE(error_of(formula), "none");
  formula.root = of(formula::Quotient{}, {number(0), fails});
  EXPECT_EQ(value_of(formula), 0);
  formula.root = of(formula::Quotient{5}, {number(0), number(0)});
  EXPECT_EQ(value_of(formula), 0);
}

TEST(Evaluate, Quotients) {
  EXPECT_EQ(value_of(of(formula::Quotient{}, {number(10), number(4)})), 2.5);
  EXPECT_EQ(value_of(of(formula::Quotient{7}, {number(10), number(0)})), 7);
  EXPECT_EQ(value_of(of(formula::Quotient{7}, {number(10), number(5)})), 2);
  EXPECT_EQ(error_of(of(formula::Quotient{}, {number(1), number(0)})), non_finite("1/0 = inf"));
  EXPECT_EQ(error_of(of(formula::Quotient{}, {number(-1.5), number(0)})),
            non_finite("-1.5/0 = -inf"));
}

TEST(Evaluate, Functions) {
  const auto apply = [](Function function, double x) { return of(function, {number(x)}); };
  EXPECT_EQ(value_of(apply(Function::kNegate, 2)), -2);
  EXPECT_EQ(value_of(apply(Function::kAbsolute, -2)), 2);
  EXPECT_EQ(value_of(apply(Function::kSquareRoot, 2.25)), 1.5);
  EXPECT_FLOAT_EQ(value_of(apply(Function::kExp, 1)), 2.7182817F);
  EXPECT_EQ(value_of(apply(Function::kLog10, 1000)), 3);
  EXPECT_FLOAT_EQ(value_of(apply(Function::kLn, 10)), 2.302585F);
  EXPECT_EQ(error_of(apply(Function::kSquareRoot, -3)), non_finite("√-3 = NaN"));
  EXPECT_EQ(error_of(apply(Function::kExp, 1000)), non_finite("exp(1000) = inf"));
  EXPECT_EQ(error_of(apply(Function::kLog10, 0)), non_finite("log10(0) = -inf"));
  EXPECT_EQ(error_of(apply(Function::kLn, 0)), non_finite("ln(0) = -inf"));
  EXPECT_EQ(error_of(apply(Function::kLn, -1)), non_finite("ln(-1) = NaN"));
}

TEST(Evaluate, Powers) {
  EXPECT_EQ(value_of(of(formula::Power{}, {number(2), number(10)})), 1024);
  EXPECT_EQ(value_of(of(formula::Power{}, {number(-2), number(3)})), -8);
  EXPECT_EQ(value_of(of(formula::Power{}, {number(0), number(0)})), 1);
  EXPECT_EQ(error_of(of(formula::Power{}, {number(-1), number(0.4)})), non_finite("-1^0.4 = NaN"));
  EXPECT_EQ(error_of(of(formula::Power{}, {number(0), number(-5)})), non_finite("0^-5 = inf"));
}

TEST(Evaluate, DecaysFallFromTheirTarget) {
  const double half = std::log(0.5);
  // Midpoint 0.5 at the distance 4.
  const auto linear = [](double x, double target) {
    return of(Decay{DecayShape::kLinear, 0.5 / 4}, {number(x), number(target)});
  };
  EXPECT_EQ(value_of(linear(10, 10)), 1);
  EXPECT_EQ(value_of(linear(6, 10)), 0.5);
  EXPECT_EQ(value_of(linear(14, 10)), 0.5);
  EXPECT_EQ(value_of(linear(100, 10)), 0) << "never negative";
  const Decay exponential{DecayShape::kExponential, half / 4};
  EXPECT_FLOAT_EQ(value_of(of(exponential, {number(6), number(10)})), 0.5F);
  EXPECT_FLOAT_EQ(value_of(of(exponential, {number(18), number(10)})), 0.25F);
  EXPECT_FLOAT_EQ(value_of(of(exponential, {number(-4)})), 0.5F) << "target 0";
  const Decay gaussian{DecayShape::kGaussian, half / 16};
  EXPECT_FLOAT_EQ(value_of(of(gaussian, {number(6), number(10)})), 0.5F);
  EXPECT_FLOAT_EQ(value_of(of(gaussian, {number(18), number(10)})), 0.0625F);
  EXPECT_EQ(value_of(of(gaussian, {number(0)})), 1);
}

TEST(Evaluate, TheResultIsAFiniteFloat) {
  EXPECT_EQ(
      error_of(of(formula::Product{}, {number(std::ldexp(1, 75)), number(std::ldexp(1, 75))})),
      non_finite("1427247692705959881058285969449495136382746624 as f32 = inf"));
  EXPECT_EQ(error_of(of(formula::Product{}, {number(-1e200), number(1e200)})),
            non_finite("-inf as f32 = -inf"));
  const Expression infinite = of(formula::Product{}, {number(1e200), number(1e200)});
  EXPECT_EQ(error_of(of(formula::Sum{}, {infinite, of(Function::kNegate, {infinite})})),
            non_finite("NaN as f32 = NaN"));
  EXPECT_EQ(value_of(of(Function::kNegate, {number(1e-320)})), 0);
  EXPECT_EQ(error_of(of(formula::Quotient{}, {number(1), number(1e-320)})),
            non_finite("1/0." + std::string(319, '0') + "1 = inf"))
      << "no exponents";
}

TEST(Evaluate, ReadsThePayloadOnlyIfItMust) {
  FakePoint point;
  ASSERT_TRUE(
      evaluate(Formula{of(formula::Sum{}, {{formula::Score{0}}, {formula::Holds{0}}})}, point));
  EXPECT_EQ(point.n_documents, 0);
  ASSERT_TRUE(evaluate(number_under("n"), point));
  EXPECT_EQ(point.n_documents, 1);
}

/// A tree and its value; NaN: an error.
struct Known {
  Expression tree;
  double value = 0;
};

/// Makes trees over the payload above. Their values are computed from the operands' values.
class TreeMaker {
 public:
  explicit TreeMaker(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] const std::vector<formula::Variable>& variables() const { return variables_; }

  Known any(int depth) {
    if (depth == 0 || random_() % 5 == 0) return leaf();
    switch (random_() % 7) {
      case 0:
        return sum(depth);
      case 1:
        return product(depth);
      case 2:
        return quotient(depth);
      case 3:
        return power(depth);
      case 4:
        return decay(depth);
      default:
        return function(depth);
    }
  }

 private:
  Known leaf() {
    switch (random_() % 5) {
      case 0:
        return variable();
      case 1:
        return {{formula::Score{0}}, 1.5};
      case 2:
        return {{formula::Score{7}}, 0};
      case 3:
        return random_() % 2 == 0 ? Known{{formula::Holds{0}}, 1} : Known{{formula::Holds{1}}, 0};
      default: {
        const double value = std::normal_distribution<double>(0, 3)(random_);
        return {number(value), value};
      }
    }
  }
  Known variable() {
    static const std::vector<std::pair<const char*, double>> kValues = {
        {"n", 3},      {"half", 0.5},         {"one", 4},
        {"deep.n", 7}, {"two", std::nan("")}, {"none", std::nan("")}};
    const auto& [key, value] = kValues[random_() % kValues.size()];
    variables_.push_back({payload::JsonPath::parse(key).value(), ValueType::kNumber});
    return {{formula::Number{variables_.size() - 1}}, value};
  }
  std::vector<Known> some(int depth) {
    std::vector<Known> operands;
    for (std::uint64_t n = random_() % 4; n > 0; --n) operands.push_back(any(depth - 1));
    return operands;
  }
  static std::vector<Expression> trees(const std::vector<Known>& operands) {
    std::vector<Expression> trees;
    for (const auto& operand : operands) trees.push_back(operand.tree);
    return trees;
  }
  Known sum(int depth) {
    const auto operands = some(depth);
    double value = 0;
    for (const auto& operand : operands) value += operand.value;
    return {of(formula::Sum{}, trees(operands)), value};
  }
  Known product(int depth) {
    const auto operands = some(depth);
    double value = 1;
    for (const auto& operand : operands) value = value == 0 ? 0 : value * operand.value;
    return {of(formula::Product{}, trees(operands)), value};
  }
  static double finite(double value) { return std::isinf(value) ? std::nan("") : value; }
  Known quotient(int depth) {
    const Known left = any(depth - 1);
    const Known right = any(depth - 1);
    formula::Quotient node;
    if (random_() % 2 == 0) node.by_zero = 2;
    double value = finite(left.value / right.value);
    if (right.value == 0) value = node.by_zero && !std::isnan(left.value) ? 2 : std::nan("");
    if (left.value == 0) value = 0;
    return {of(node, {left.tree, right.tree}), value};
  }
  Known power(int depth) {
    const Known base = any(depth - 1);
    const Known exponent = any(depth - 1);
    const bool fails = std::isnan(base.value) || std::isnan(exponent.value);  // NaN^0 is 1
    const double value = fails ? std::nan("") : finite(std::pow(base.value, exponent.value));
    return {of(formula::Power{}, {base.tree, exponent.tree}), value};
  }
  Known decay(int depth) {
    const Known x = any(depth - 1);
    const Known target = any(depth - 1);
    const auto shape = static_cast<DecayShape>(random_() % 3);
    const double lambda = shape == DecayShape::kLinear ? 0.25 : -0.25;
    const double d = x.value - target.value;
    double value = std::exp(lambda * d * d);
    if (shape == DecayShape::kLinear)
      value = std::isnan(d) || std::abs(d) < 4 ? 1 - std::abs(d) / 4 : 0;
    if (shape == DecayShape::kExponential) value = std::exp(lambda * std::abs(d));
    return {of(Decay{shape, lambda}, {x.tree, target.tree}), value};
  }
  Known function(int depth) {
    const Known x = any(depth - 1);
    const auto function = static_cast<Function>(random_() % 6);
    double value = x.value;
    if (function == Function::kNegate) value = 0 - x.value;
    if (function == Function::kAbsolute) value = x.value < 0 ? -x.value : x.value;
    if (function == Function::kSquareRoot) value = std::sqrt(x.value);
    if (function == Function::kExp) value = finite(std::exp(x.value));
    if (function == Function::kLog10) value = finite(std::log10(x.value));
    if (function == Function::kLn) value = finite(std::log(x.value));
    return {of(function, {x.tree}), value};
  }

  std::mt19937_64 random_;
  std::vector<formula::Variable> variables_;
};

TEST(Evaluate, RandomTreesHaveTheValuesOfTheirParts) {
  int n_values = 0;
  int n_errors = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    TreeMaker maker(seed);
    const Known known = maker.any(1 + static_cast<int>(seed % 5));
    Formula formula{known.tree};
    formula.variables = maker.variables();
    FakePoint point;
    const auto value = evaluate(formula, point);
    const auto expected = static_cast<float>(known.value);
    ASSERT_EQ(value.has_value(), std::isfinite(expected)) << "seed " << seed;
    if (value) {
      EXPECT_NEAR(*value, expected, 1e-5 * std::abs(expected)) << "seed " << seed;
    }
    ++(value ? n_values : n_errors);
  }
  EXPECT_GT(n_values, 500);
  EXPECT_GT(n_errors, 500);
}

}  // namespace
}  // namespace quiver::engine::testing
