// The value of a formula for one point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "engine/model/formula.h"
#include "payload/json/document.h"

namespace quiver::engine {

/// What a formula may ask of a point. It asks only for what the value depends on.
class FormulaPoint {
 public:
  virtual ~FormulaPoint() = default;
  /// As users see it. nullopt: the prefetch did not find the point, or there is no such prefetch.
  [[nodiscard]] virtual std::optional<float> score(std::uint64_t prefetch) const = 0;
  /// The payload, borrowed.
  [[nodiscard]] virtual Result<const payload::Value*> document() = 0;
  /// `condition`: position in `Formula::conditions`.
  [[nodiscard]] virtual bool holds(std::size_t condition) const = 0;
  /// Whether a payload index covers the key. `variable`: position in `Formula::variables`.
  [[nodiscard]] virtual bool is_indexed(std::size_t variable) const = 0;
};

/// Evaluates from left to right. Null counts as a missing value under keys with an index, and as a
/// value of the wrong type under other keys: so do Qdrant's answers. kInvalidArgument, with the
/// reason, for a value of the wrong type, a missing value without a default, and an operation
/// without a finite result. Products and sums may be infinite on the way. A result that is no
/// finite float is an error.
[[nodiscard]] Result<float> evaluate(const Formula& formula, FormulaPoint& point);

}  // namespace quiver::engine
