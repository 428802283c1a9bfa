#include "engine/query/formula/evaluator.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "payload/scalar/datetime.h"
#include "payload/scalar/geo.h"
#include "payload/scalar/number.h"

namespace quiver::engine {
namespace {

using formula::Expression;
using formula::ValueType;
using formula::Variable;
using Operands = std::vector<Expression>;

/// Without an exponent; reads back to the same number.
std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  constexpr std::size_t kMaxCharacters = 512;  // the least denormal needs some 350
  std::array<char, kMaxCharacters> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

tl::unexpected<Error> not_finite(const std::string& expression, const std::string& value) {
  return fail(
      Code::kInvalidArgument,
      fmt::format("The expression {} = {} produced a non-finite number", expression, value));
}

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::kNumber:
      return "number";
    case ValueType::kGeoPoint:
      return "geo point";
    case ValueType::kDatetime:
      return "datetime";
  }
  return "value";
}

tl::unexpected<Error> wrong_value(const Variable& variable, std::string_view reason) {
  return fail(Code::kInvalidArgument,
              fmt::format("Expected {} value for {} in the payload and/or in the formula defaults. "
                          "Error: {}",
                          name_of(variable.type), variable.path.to_string(), reason));
}

tl::unexpected<Error> wrong_type(const Variable& variable) {
  return wrong_value(variable, fmt::format("Value is not a {}", name_of(variable.type)));
}

/// Calls `visit` for each value under a path. An array stands for its elements, except for those
/// that the path itself goes through.
template <class Visit>
void for_each_value_of(const payload::Value& document, const payload::JsonPath& path, Visit visit) {
  if (path.steps().back().kind == payload::PathStep::Kind::kEach) {
    payload::for_each_value(document, path, visit);
  } else {
    payload::for_each_element(document, path, visit);
  }
}

struct FunctionText {
  std::string_view before, after;
};

/// nullopt: cannot fail.
std::optional<FunctionText> text_of(formula::Function function) {
  switch (function) {
    case formula::Function::kSquareRoot:
      return FunctionText{"√", ""};
    case formula::Function::kExp:
      return FunctionText{"exp(", ")"};
    case formula::Function::kLog10:
      return FunctionText{"log10(", ")"};
    case formula::Function::kLn:
      return FunctionText{"ln(", ")"};
    default:
      return std::nullopt;
  }
}

double apply_function(formula::Function function, double x) {
  switch (function) {
    case formula::Function::kNegate:
      return -x;
    case formula::Function::kAbsolute:
      return std::abs(x);
    case formula::Function::kSquareRoot:
      return std::sqrt(x);
    case formula::Function::kExp:
      return std::exp(x);
    case formula::Function::kLog10:
      return std::log10(x);
    case formula::Function::kLn:
      return std::log(x);
  }
  return x;
}

double decayed(const formula::Decay& decay, double difference) {
  switch (decay.shape) {
    case formula::DecayShape::kLinear:
      return std::fmax(-decay.lambda * std::abs(difference) + 1.0, 0.0);
    case formula::DecayShape::kExponential:
      return std::exp(decay.lambda * std::abs(difference));
    case formula::DecayShape::kGaussian:
      return std::exp(decay.lambda * difference * difference);
  }
  return 0;
}

class Evaluation {
 public:
  Evaluation(const Formula& formula, FormulaPoint& point) : formula_(formula), point_(point) {}

  [[nodiscard]] Result<double> value_of(const Expression& expression) {
    return std::visit([&](const auto& node) { return value(node, expression.operands); },
                      expression.node);
  }

 private:
  Result<double> value(const formula::Constant& constant, const Operands& /*none*/) {
    return constant.value;
  }
  Result<double> value(const formula::Score& score, const Operands& /*none*/) {
    if (const auto found = point_.score(score.prefetch)) return static_cast<double>(*found);
    const auto otherwise = formula_.default_scores.find(score.prefetch);
    return otherwise == formula_.default_scores.end() ? 0.0 : otherwise->second;
  }
  Result<double> value(const formula::Number& number, const Operands& /*none*/) {
    const Variable& variable = formula_.variables[number.variable];
    QV_TRY(const auto* found, find(variable));
    const auto x = payload::as_number(*found);
    if (!x) return wrong_type(variable);
    return payload::nearest_double(*x).value;
  }
  Result<double> value(const formula::GeoDistance& distance, const Operands& /*none*/) {
    const Variable& variable = formula_.variables[distance.variable];
    QV_TRY(const auto* found, find(variable));
    const auto place = payload::as_geo_point(*found);
    if (!place) return wrong_type(variable);
    return payload::geo_distance_m(distance.origin, *place);
  }
  Result<double> value(const formula::Time& time, const Operands& /*none*/) {
    constexpr double kMicrosecondsPerSecond = 1e6;
    const Variable& variable = formula_.variables[time.variable];
    QV_TRY(const auto* found, find(variable));
    const auto* text = found->as_string();
    if (text == nullptr) return wrong_value(variable, "Value is not a string");
    const auto microseconds = payload::parse_datetime(*text);
    if (!microseconds) return wrong_type(variable);
    return static_cast<double>(*microseconds) / kMicrosecondsPerSecond;
  }
  Result<double> value(const formula::Holds& holds, const Operands& /*none*/) {
    return point_.holds(holds.condition) ? 1.0 : 0.0;
  }
  Result<double> value(const formula::Product& /*node*/, const Operands& operands) {
    double product = 1;
    for (const auto& operand : operands) {
      QV_TRY(const double factor, value_of(operand));
      if (factor == 0) return 0.0;
      product *= factor;
    }
    return product;
  }
  Result<double> value(const formula::Sum& /*node*/, const Operands& operands) {
    double sum = 0;
    for (const auto& operand : operands) {
      QV_TRY(const double summand, value_of(operand));
      sum += summand;
    }
    return sum;
  }
  Result<double> value(const formula::Quotient& quotient, const Operands& operands) {
    QV_TRY(const double left, value_of(operands[0]));
    if (left == 0) return 0.0;
    QV_TRY(const double right, value_of(operands[1]));
    if (right == 0 && quotient.by_zero) return *quotient.by_zero;
    const double result = left / right;
    if (std::isfinite(result)) return result;
    return not_finite(fmt::format("{}/{}", number_text(left), number_text(right)),
                      number_text(result));
  }
  Result<double> value(const formula::Power& /*node*/, const Operands& operands) {
    QV_TRY(const double base, value_of(operands[0]));
    QV_TRY(const double exponent, value_of(operands[1]));
    const double result = std::pow(base, exponent);
    if (std::isfinite(result)) return result;
    return not_finite(fmt::format("{}^{}", number_text(base), number_text(exponent)),
                      number_text(result));
  }
  Result<double> value(formula::Function function, const Operands& operands) {
    QV_TRY(const double x, value_of(operands[0]));
    const double result = apply_function(function, x);
    const auto text = text_of(function);
    if (std::isfinite(result) || !text) return result;
    return not_finite(fmt::format("{}{}{}", text->before, number_text(x), text->after),
                      number_text(result));
  }
  Result<double> value(const formula::Decay& decay, const Operands& operands) {
    QV_TRY(const double x, value_of(operands[0]));
    double target = 0;
    if (operands.size() > 1) {
      QV_TRY(target, value_of(operands[1]));
    }
    return decayed(decay, x - target);
  }

  /// The one value of the payload, else the default.
  Result<const payload::Value*> find(const Variable& variable) {
    QV_TRY(const auto* document, point_.document());
    const auto number = static_cast<std::size_t>(&variable - formula_.variables.data());
    const bool skips_null = point_.is_indexed(number);  // no index holds null
    const payload::Value* first = nullptr;
    std::size_t n_values = 0;
    for_each_value_of(*document, variable.path, [&](const payload::Value& value) {
      if (skips_null && value.is_null()) return;
      if (n_values++ == 0) first = &value;
    });
    if (n_values > 1) return wrong_type(variable);
    if (first != nullptr) return first;
    if (variable.otherwise) return &*variable.otherwise;
    return wrong_value(variable, "No value found in a payload nor defaults");
  }

  const Formula& formula_;
  FormulaPoint& point_;
};

}  // namespace

Result<float> evaluate(const Formula& formula, FormulaPoint& point) {
  QV_TRY(const double value, Evaluation(formula, point).value_of(formula.root));
  const auto score = static_cast<float>(value);
  if (std::isfinite(score)) return score;
  return not_finite(fmt::format("{} as f32", number_text(value)),
                    number_text(static_cast<double>(score)));
}

}  // namespace quiver::engine
