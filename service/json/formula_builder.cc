#include "service/json/formula_builder.h"

#include <fmt/format.h>

#include <cmath>
#include <variant>

#include "payload/scalar/datetime.h"
#include "payload/scalar/geo.h"
#include "payload/scalar/number.h"

namespace quiver::service::json {
namespace {

using engine::formula::DecayShape;
using engine::formula::Expression;
using engine::formula::ValueType;
using payload::JsonPath;
using payload::PathStep;

using VariableName = std::variant<engine::formula::Score, JsonPath>;

/// `text` after the `$`.
Result<VariableName> parse_reserved(std::string_view text) {
  const auto path = JsonPath::parse(text);
  const auto refuse = [&](std::string_view what) {
    return fail(Code::kInvalidArgument, fmt::format("Invalid reserved {}: ${}", what, text));
  };
  if (!path) return refuse("variable");
  const auto steps = path->steps();
  if (steps[0].key != "score") return refuse("word");
  if (steps.size() == 1) return VariableName(engine::formula::Score{0});
  if (steps.size() > 2 || steps[1].kind != PathStep::Kind::kIndex) return refuse("variable");
  return VariableName(engine::formula::Score{steps[1].index});
}

Result<VariableName> parse_variable(std::string_view name) {
  if (name.starts_with('$')) return parse_reserved(name.substr(1));
  if (auto path = JsonPath::parse(name)) return VariableName(*std::move(path));
  return fail(Code::kInvalidArgument, fmt::format("Invalid payload variable: {}", name));
}

tl::unexpected<Error> refuse_formula(const std::string& why) {
  return fail(Code::kInvalidArgument, "Validation failed: " + why);
}

Result<JsonPath> parse_key(std::string_view key) {
  auto path = JsonPath::parse(key);
  if (!path) return fail(Code::kInvalidArgument, fmt::format("invalid payload key: {}", key));
  return path;
}

double lambda_of(DecayShape shape, double midpoint, double scale) {
  switch (shape) {
    case DecayShape::kLinear:
      return (1.0 - midpoint) / scale;
    case DecayShape::kExponential:
      return std::log(midpoint) / scale;
    case DecayShape::kGaussian:
      return std::log(midpoint) / (scale * scale);
  }
  return 0;
}

}  // namespace

Result<Expression> FormulaBuilder::variable(std::string_view name) {
  auto parsed = parse_variable(name);
  if (!parsed) {
    return refuse_formula(
        fmt::format("failed to parse variable ID {}: {}", name, parsed.error().message()));
  }
  if (const auto* score = std::get_if<engine::formula::Score>(&*parsed)) return Expression{*score};
  return Expression{engine::formula::Number{
      position_of(std::get<JsonPath>(*std::move(parsed)), ValueType::kNumber)}};
}

Result<Expression> FormulaBuilder::geo_distance(const payload::GeoPoint& origin,
                                                std::string_view key) {
  if (!payload::is_on_globe(origin)) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("the origin of geo_distance is at lon {} and lat {}, must be from -180 to "
                    "180 and from -90 to 90",
                    origin.lon, origin.lat));
  }
  QV_TRY(auto path, parse_key(key));
  return Expression{
      engine::formula::GeoDistance{origin, position_of(std::move(path), ValueType::kGeoPoint)}};
}

Result<Expression> FormulaBuilder::time(std::string_view datetime) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  if (const auto microseconds = payload::parse_datetime(datetime)) {
    return Expression{
        engine::formula::Constant{static_cast<double>(*microseconds) / kMicrosecondsPerSecond}};
  }
  return refuse_formula(
      fmt::format("failed to parse date-time {}: expected a datetime (RFC 3339)", datetime));
}

Result<Expression> FormulaBuilder::time_under(std::string_view key) {
  QV_TRY(auto path, parse_key(key));
  return Expression{engine::formula::Time{position_of(std::move(path), ValueType::kDatetime)}};
}

Expression FormulaBuilder::holds(payload::Condition condition) {
  formula_.conditions.push_back(std::move(condition));
  return Expression{engine::formula::Holds{formula_.conditions.size() - 1}};
}

Result<Expression> FormulaBuilder::decay(DecayShape shape, const DecayParameters& parameters,
                                         std::vector<Expression> operands) {
  const double midpoint = static_cast<double>(parameters.midpoint.value_or(0.5F));
  const double scale = static_cast<double>(parameters.scale.value_or(1.0F));
  if (shape == DecayShape::kLinear && !(midpoint >= 0 && midpoint <= 1)) {
    return refuse_formula(
        fmt::format("Linear decay midpoint should be in the range [0.0, 1.0], got {}.", midpoint));
  }
  if (shape != DecayShape::kLinear && !(midpoint > 0 && midpoint < 1)) {
    return refuse_formula(
        fmt::format("Decay midpoint should be in the range (0.0, 1.0), got {}.", midpoint));
  }
  if (!(scale > 0)) {
    return refuse_formula(fmt::format("Decay scale should be non-zero positive, got {}.", scale));
  }
  return Expression{engine::formula::Decay{shape, lambda_of(shape, midpoint, scale)},
                    std::move(operands)};
}

Result<> FormulaBuilder::set_default(std::string_view name, payload::Value value) {
  QV_TRY(const auto variable, parse_variable(name));
  const auto* score = std::get_if<engine::formula::Score>(&variable);
  if (score == nullptr) {
    defaults_[std::get<JsonPath>(variable).to_string()] = std::move(value);
    return {};
  }
  const auto number = payload::as_number(value);
  if (!number) return fail(Code::kInvalidArgument, "Score default must be a number");
  formula_.default_scores[score->prefetch] = payload::nearest_double(*number).value;
  return {};
}

engine::Formula FormulaBuilder::finish(Expression root) && {
  for (auto& variable : formula_.variables) {
    const auto found = defaults_.find(variable.path.to_string());
    if (found != defaults_.end()) variable.otherwise = found->second;
  }
  formula_.root = std::move(root);
  return std::move(formula_);
}

std::size_t FormulaBuilder::position_of(JsonPath path, ValueType type) {
  const auto [found, is_new] =
      positions_.try_emplace({path.to_string(), type}, formula_.variables.size());
  if (is_new) formula_.variables.push_back({std::move(path), type});
  return found->second;
}

}  // namespace quiver::service::json
