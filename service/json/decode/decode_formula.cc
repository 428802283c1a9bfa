// Formulas: an expression is a number, the name of a variable, or an object that is an operation or
// a condition of filters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "payload/json/document.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/formula_builder.h"

namespace quiver::service::json {
namespace {

using engine::formula::DecayShape;
using engine::formula::Expression;
using engine::formula::Function;
using Operands = std::vector<Expression>;

/// Members that make an object a condition.
constexpr std::string_view kConditionMembers[] = {"key",        "is_empty", "is_null", "has_id",
                                                  "has_vector", "nested",   "slice",   "should",
                                                  "min_should", "must",     "must_not"};

bool is_condition(Object object) {
  return object.size() == 0 ||
         std::any_of(std::begin(kConditionMembers), std::end(kConditionMembers),
                     [&](std::string_view name) { return find(object, name).has_value(); });
}

class FormulaDecoder {
 public:
  explicit FormulaDecoder(FormulaBuilder& builder) : builder_(builder) {}

  Decoded<Expression> decode(Element element, const Path& path) {
    if (depth_ == engine::formula::kMaxDepth) {
      return format_error(path, fmt::format("the formula nests deeper than {} expressions",
                                            engine::formula::kMaxDepth));
    }
    ++depth_;
    auto expression = decode_any(element, path);
    --depth_;
    return expression;
  }

 private:
  using Decode = Decoded<Expression> (FormulaDecoder::*)(Element, const Path&);
  struct NamedOperation {
    std::string_view name;
    Decode decode;
  };

  Decoded<Expression> decode_any(Element element, const Path& path) {
    if (element.is_string()) return builder_.variable(as_string(element));
    if (element.is_number()) {
      QV_TRY(const float value, get_f32(element, path));
      return Expression{engine::formula::Constant{static_cast<double>(value)}};
    }
    if (element.is_object()) return decode_object(as_object(element), element, path);
    return wrong_type(element, path, "a number, a variable, an operation or a condition");
  }

  Decoded<Expression> decode_object(Object object, Element element, const Path& path) {
    static constexpr NamedOperation kOperations[] = {
        {"geo_distance", &FormulaDecoder::decode_geo_distance},
        {"datetime", &FormulaDecoder::decode_time},
        {"datetime_key", &FormulaDecoder::decode_time_key},
        {"mult", &FormulaDecoder::decode_list<engine::formula::Product>},
        {"sum", &FormulaDecoder::decode_list<engine::formula::Sum>},
        {"neg", &FormulaDecoder::decode_function<Function::kNegate>},
        {"abs", &FormulaDecoder::decode_function<Function::kAbsolute>},
        {"div", &FormulaDecoder::decode_quotient},
        {"sqrt", &FormulaDecoder::decode_function<Function::kSquareRoot>},
        {"pow", &FormulaDecoder::decode_power},
        {"exp", &FormulaDecoder::decode_function<Function::kExp>},
        {"log10", &FormulaDecoder::decode_function<Function::kLog10>},
        {"ln", &FormulaDecoder::decode_function<Function::kLn>},
        {"lin_decay", &FormulaDecoder::decode_decay<DecayShape::kLinear>},
        {"exp_decay", &FormulaDecoder::decode_decay<DecayShape::kExponential>},
        {"gauss_decay", &FormulaDecoder::decode_decay<DecayShape::kGaussian>},
    };
    if (is_condition(object)) {
      QV_TRY(auto condition, decode_one_condition(element, path));
      return builder_.holds(std::move(condition));
    }
    for (const auto& [name, decode] : kOperations) {
      if (const auto value = find(object, name)) return (this->*decode)(*value, path.member(name));
    }
    return format_error(path,
                        fmt::format("{} is no known operation or condition", to_json(element)));
  }

  Decoded<Expression> decode_geo_distance(Element element, const Path& path) {
    QV_TRY(const Object object, get_object(element, path));
    QV_TRY(const Element origin, require(object, "origin", path));
    const Path here = path.member("origin");
    QV_TRY(const Object coordinates, get_object(origin, here));
    payload::GeoPoint point;
    QV_TRY(const Element lon, require(coordinates, "lon", here));
    QV_TRY(point.lon, get_f64(lon, here.member("lon")));
    QV_TRY(const Element lat, require(coordinates, "lat", here));
    QV_TRY(point.lat, get_f64(lat, here.member("lat")));
    QV_TRY(const Element to, require(object, "to", path));
    QV_TRY(const auto key, get_string(to, path.member("to")));
    return builder_.geo_distance(point, key);
  }

  Decoded<Expression> decode_time(Element element, const Path& path) {
    QV_TRY(const auto text, get_string(element, path));
    return FormulaBuilder::time(text);
  }

  Decoded<Expression> decode_time_key(Element element, const Path& path) {
    QV_TRY(const auto key, get_string(element, path));
    return builder_.time_under(key);
  }

  template <class Node>
  Decoded<Expression> decode_list(Element element, const Path& path) {
    QV_TRY(const Array array, get_array(element, path));
    Expression list{Node{}};
    for (const Element item : array) {
      QV_TRY(auto operand, decode(item, path.item(list.operands.size())));
      list.operands.push_back(std::move(operand));
    }
    return list;
  }

  template <Function function>
  Decoded<Expression> decode_function(Element element, const Path& path) {
    QV_TRY(auto operand, decode(element, path));
    return Expression{function, {std::move(operand)}};
  }

  /// The two members of an object.
  Decoded<Operands> decode_pair(Object object, const Path& path, std::string_view first,
                                std::string_view second) {
    Operands operands;
    for (const auto name : {first, second}) {
      QV_TRY(const Element element, require(object, name, path));
      QV_TRY(auto operand, decode(element, path.member(name)));
      operands.push_back(std::move(operand));
    }
    return operands;
  }

  Decoded<Expression> decode_quotient(Element element, const Path& path) {
    QV_TRY(const Object object, get_object(element, path));
    QV_TRY(auto operands, decode_pair(object, path, "left", "right"));
    engine::formula::Quotient quotient;
    if (const auto by_zero = find(object, "by_zero_default")) {
      QV_TRY(const float value, get_f32(*by_zero, path.member("by_zero_default")));
      quotient.by_zero = static_cast<double>(value);
    }
    return Expression{quotient, std::move(operands)};
  }

  Decoded<Expression> decode_power(Element element, const Path& path) {
    QV_TRY(const Object object, get_object(element, path));
    QV_TRY(auto operands, decode_pair(object, path, "base", "exponent"));
    return Expression{engine::formula::Power{}, std::move(operands)};
  }

  template <DecayShape shape>
  Decoded<Expression> decode_decay(Element element, const Path& path) {
    QV_TRY(const Object object, get_object(element, path));
    FormulaBuilder::DecayParameters parameters;
    if (const auto midpoint = find(object, "midpoint")) {
      QV_TRY(parameters.midpoint, get_f32(*midpoint, path.member("midpoint")));
    }
    if (const auto scale = find(object, "scale")) {
      QV_TRY(parameters.scale, get_f32(*scale, path.member("scale")));
    }
    Operands operands;
    QV_TRY(const Element x, require(object, "x", path));
    QV_TRY(operands.emplace_back(), decode(x, path.member("x")));
    if (const auto target = find(object, "target")) {
      QV_TRY(operands.emplace_back(), decode(*target, path.member("target")));
    }
    return FormulaBuilder::decay(shape, parameters, std::move(operands));
  }

  FormulaBuilder& builder_;
  std::size_t depth_ = 0;
};

Decoded<> decode_defaults(Element element, const Path& path, FormulaBuilder& builder) {
  QV_TRY(const Object object, get_object(element, path));
  for (const auto [name, value] : object) {
    QV_TRY(auto document, payload::parse_json(to_json(value)));
    const auto set = builder.set_default(name, std::move(document));
    if (!set) return validation_error(path, set.error().message());
  }
  return {};
}

}  // namespace

Decoded<engine::QueryKind> decode_formula(Object query, const Path& path) {
  FormulaBuilder builder;
  QV_TRY(const Element formula, require(query, "formula", path));
  QV_TRY(auto root, FormulaDecoder(builder).decode(formula, path.member("formula")));
  if (const auto defaults = find(query, "defaults")) {
    QV_TRY(decode_defaults(*defaults, path.member("defaults"), builder));
  }
  return engine::QueryKind(std::move(builder).finish(std::move(root)));
}

}  // namespace quiver::service::json
