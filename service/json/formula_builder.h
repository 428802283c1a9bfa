// Puts a formula together while a decoder walks through it, whatever it is written in. Errors have
// Qdrant's texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/model/formula.h"

namespace quiver::service::json {

class FormulaBuilder {
 public:
  using Expression = engine::formula::Expression;

  /// `$score`, `$score[1]` or a payload key. kInvalidArgument for other texts.
  [[nodiscard]] Result<Expression> variable(std::string_view name);
  /// kInvalidArgument unless `origin` is on the globe and `key` is a payload key.
  [[nodiscard]] Result<Expression> geo_distance(const payload::GeoPoint& origin,
                                                std::string_view key);
  /// A datetime as seconds since the epoch; kInvalidArgument if it is none.
  [[nodiscard]] static Result<Expression> time(std::string_view datetime);
  [[nodiscard]] Result<Expression> time_under(std::string_view key);
  [[nodiscard]] Expression holds(payload::Condition condition);

  /// Wants `scale` > 0, and a midpoint from 0 to 1, which is between them unless the decay is
  /// linear.
  struct DecayParameters {
    std::optional<float> midpoint;  ///< value at the distance `scale`; default 0.5
    std::optional<float> scale;     ///< default 1
  };
  /// kInvalidArgument for parameters out of range.
  [[nodiscard]] static Result<Expression> decay(engine::formula::DecayShape shape,
                                                const DecayParameters& parameters,
                                                std::vector<Expression> operands);

  /// The value of `name` for points without one. kInvalidArgument, without a prefix, if that is no
  /// variable, or a score and the value no number.
  [[nodiscard]] Result<> set_default(std::string_view name, payload::Value value);

  [[nodiscard]] engine::Formula finish(Expression root) &&;

 private:
  [[nodiscard]] std::size_t position_of(payload::JsonPath path, engine::formula::ValueType type);

  engine::Formula formula_;
  std::map<std::pair<std::string, engine::formula::ValueType>, std::size_t> positions_;
  std::map<std::string, payload::Value> defaults_;  ///< by canonical path
};

}  // namespace quiver::service::json
