// Formulas.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "payload/json/document.h"
#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/values.h"
#include "service/json/formula_builder.h"

namespace quiver::service::rpc {
namespace {

using engine::formula::DecayShape;
using engine::formula::Expression;
using engine::formula::Function;
using json::FormulaBuilder;
using Operands = std::vector<Expression>;

class FormulaDecoder {
 public:
  explicit FormulaDecoder(FormulaBuilder& builder) : builder_(builder) {}

  Decoded<Expression> decode(const qdrant::Expression& expression, const Path& path) {
    if (depth_ == engine::formula::kMaxDepth) {
      return format_error(path, fmt::format("the formula nests deeper than {} expressions",
                                            engine::formula::kMaxDepth));
    }
    ++depth_;
    auto decoded = decode_any(expression, path);
    --depth_;
    return decoded;
  }

 private:
  using Message = qdrant::Expression;
  using Messages = google::protobuf::RepeatedPtrField<qdrant::Expression>;

  Decoded<Expression> decode_any(const Message& expression, const Path& path) {
    switch (expression.variant_case()) {
      case Message::kConstant:
        return Expression{engine::formula::Constant{static_cast<double>(expression.constant())}};
      case Message::kVariable:
        return builder_.variable(expression.variable());
      case Message::kCondition: {
        QV_TRY(auto condition,
               decode_one_condition(expression.condition(), path.member("condition")));
        return builder_.holds(std::move(condition));
      }
      case Message::kGeoDistance:
        return decode_geo_distance(expression.geo_distance(), path.member("geo_distance"));
      case Message::kDatetime:
        return FormulaBuilder::time(expression.datetime());
      case Message::kDatetimeKey:
        return builder_.time_under(expression.datetime_key());
      case Message::kMult:
        return decode_list(engine::formula::Product{}, expression.mult().mult(),
                           path.member("mult"));
      case Message::kSum:
        return decode_list(engine::formula::Sum{}, expression.sum().sum(), path.member("sum"));
      case Message::kDiv:
        return decode_quotient(expression.div(), path.member("div"));
      case Message::kPow:
        return decode_power(expression.pow(), path.member("pow"));
      case Message::kExpDecay:
        return decode_decay(DecayShape::kExponential, expression.exp_decay(),
                            path.member("exp_decay"));
      case Message::kGaussDecay:
        return decode_decay(DecayShape::kGaussian, expression.gauss_decay(),
                            path.member("gauss_decay"));
      case Message::kLinDecay:
        return decode_decay(DecayShape::kLinear, expression.lin_decay(), path.member("lin_decay"));
      default:
        return decode_function(expression, path);
    }
  }

  Decoded<Expression> decode_function(const Message& expression, const Path& path) {
    switch (expression.variant_case()) {
      case Message::kNeg:
        return apply(Function::kNegate, expression.neg(), path.member("neg"));
      case Message::kAbs:
        return apply(Function::kAbsolute, expression.abs(), path.member("abs"));
      case Message::kSqrt:
        return apply(Function::kSquareRoot, expression.sqrt(), path.member("sqrt"));
      case Message::kExp:
        return apply(Function::kExp, expression.exp(), path.member("exp"));
      case Message::kLog10:
        return apply(Function::kLog10, expression.log10(), path.member("log10"));
      case Message::kLn:
        return apply(Function::kLn, expression.ln(), path.member("ln"));
      default:
        return format_error(path, "missing field: variant");
    }
  }

  Decoded<Expression> apply(Function function, const Message& operand, const Path& path) {
    QV_TRY(auto decoded, decode(operand, path));
    return Expression{function, {std::move(decoded)}};
  }

  Decoded<Expression> decode_list(engine::formula::Node node, const Messages& operands,
                                  const Path& path) {
    Expression list{std::move(node)};
    for (const auto& operand : operands) {
      QV_TRY(auto decoded, decode(operand, path.item(list.operands.size())));
      list.operands.push_back(std::move(decoded));
    }
    return list;
  }

  Decoded<Expression> decode_geo_distance(const qdrant::GeoDistance& distance, const Path& path) {
    if (!distance.has_origin()) return format_error(path, "missing field: origin");
    const payload::GeoPoint origin{distance.origin().lon(), distance.origin().lat()};
    return builder_.geo_distance(origin, distance.to());
  }

  Decoded<Expression> decode_quotient(const qdrant::DivExpression& division, const Path& path) {
    if (!division.has_left()) return format_error(path, "missing field: left");
    if (!division.has_right()) return format_error(path, "missing field: right");
    engine::formula::Quotient quotient;
    if (division.has_by_zero_default()) {
      quotient.by_zero = static_cast<double>(division.by_zero_default());
    }
    QV_TRY(auto left, decode(division.left(), path.member("left")));
    QV_TRY(auto right, decode(division.right(), path.member("right")));
    return Expression{quotient, {std::move(left), std::move(right)}};
  }

  Decoded<Expression> decode_power(const qdrant::PowExpression& power, const Path& path) {
    if (!power.has_base()) return format_error(path, "missing field: base");
    if (!power.has_exponent()) return format_error(path, "missing field: exponent");
    QV_TRY(auto base, decode(power.base(), path.member("base")));
    QV_TRY(auto exponent, decode(power.exponent(), path.member("exponent")));
    return Expression{engine::formula::Power{}, {std::move(base), std::move(exponent)}};
  }

  Decoded<Expression> decode_decay(DecayShape shape, const qdrant::DecayParamsExpression& decay,
                                   const Path& path) {
    if (!decay.has_x()) return format_error(path, "missing field: x");
    FormulaBuilder::DecayParameters parameters;
    if (decay.has_midpoint()) parameters.midpoint = decay.midpoint();
    if (decay.has_scale()) parameters.scale = decay.scale();
    Operands operands;
    QV_TRY(operands.emplace_back(), decode(decay.x(), path.member("x")));
    if (decay.has_target()) {
      QV_TRY(operands.emplace_back(), decode(decay.target(), path.member("target")));
    }
    return FormulaBuilder::decay(shape, parameters, std::move(operands));
  }

  FormulaBuilder& builder_;
  std::size_t depth_ = 0;
};

}  // namespace

Decoded<engine::Formula> decode_formula(const qdrant::Formula& formula, const Path& path) {
  FormulaBuilder builder;
  if (!formula.has_expression()) return format_error(path, "missing field: expression");
  QV_TRY(auto root,
         FormulaDecoder(builder).decode(formula.expression(), path.member("expression")));
  const Path defaults = path.member("defaults");
  for (const auto& [name, value] : formula.defaults()) {
    std::string text;
    QV_TRY(append_json(value, defaults.member(name), text));
    QV_TRY(auto document, payload::parse_json(text));
    const auto set = builder.set_default(name, std::move(document));
    if (!set) return validation_error(defaults, set.error().message());
  }
  return std::move(builder).finish(std::move(root));
}

}  // namespace quiver::service::rpc
