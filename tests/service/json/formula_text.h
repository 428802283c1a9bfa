// A formula as text, so that tests can compare what decoders made.
#pragma once

#include <fmt/format.h>

#include <string>
#include <variant>

#include "engine/model/formula.h"
#include "payload/json/document.h"

namespace quiver::service {

class FormulaText {
 public:
  explicit FormulaText(const engine::Formula& formula) : formula_(formula) {}

  [[nodiscard]] std::string of(const engine::formula::Expression& expression) const {
    std::string text = std::visit(*this, expression.node);
    if (expression.operands.empty()) return text;
    text += "(";
    for (const auto& operand : expression.operands) {
      if (&operand != expression.operands.data()) text += ", ";
      text += of(operand);
    }
    return text + ")";
  }

  std::string operator()(const engine::formula::Constant& node) const {
    return fmt::format("{}", node.value);
  }
  std::string operator()(const engine::formula::Score& node) const {
    return fmt::format("$score[{}]", node.prefetch);
  }
  std::string operator()(const engine::formula::Number& node) const {
    return "number " + variable(node.variable);
  }
  std::string operator()(const engine::formula::GeoDistance& node) const {
    return fmt::format("distance from {},{} to {}", node.origin.lon, node.origin.lat,
                       variable(node.variable));
  }
  std::string operator()(const engine::formula::Time& node) const {
    return "time " + variable(node.variable);
  }
  std::string operator()(const engine::formula::Holds& node) const {
    return fmt::format("condition {} of kind {}", node.condition,
                       formula_.conditions.at(node.condition).index());
  }
  std::string operator()(const engine::formula::Product& /*node*/) const { return "mult"; }
  std::string operator()(const engine::formula::Sum& /*node*/) const { return "sum"; }
  std::string operator()(const engine::formula::Quotient& node) const {
    return node.by_zero ? fmt::format("div or {}", *node.by_zero) : "div";
  }
  std::string operator()(const engine::formula::Power& /*node*/) const { return "pow"; }
  std::string operator()(engine::formula::Function function) const {
    constexpr const char* kNames[] = {"neg", "abs", "sqrt", "exp", "log10", "ln"};
    return kNames[static_cast<int>(function)];
  }
  std::string operator()(const engine::formula::Decay& node) const {
    constexpr const char* kNames[] = {"lin", "exp", "gauss"};
    return fmt::format("{}_decay {:.5}", kNames[static_cast<int>(node.shape)], node.lambda);
  }

 private:
  [[nodiscard]] std::string variable(std::size_t i) const {
    const auto& variable = formula_.variables.at(i);
    std::string text =
        fmt::format("{} of type {}", variable.path.to_string(), static_cast<int>(variable.type));
    if (variable.otherwise) text += " or " + payload::to_json(*variable.otherwise);
    return text;
  }

  const engine::Formula& formula_;
};

inline std::string formula_text(const engine::Formula& formula) {
  std::string text = FormulaText(formula).of(formula.root);
  for (const auto& [prefetch, score] : formula.default_scores) {
    text += fmt::format("; $score[{}] or {}", prefetch, score);
  }
  return text;
}

}  // namespace quiver::service
