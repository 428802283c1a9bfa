// A formula that makes one score of the scores of prefetches, payload values and conditions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "payload/filter.h"
#include "payload/json/document.h"
#include "payload/json/path.h"

namespace quiver::engine {

/// The nodes of the tree. Numbers are doubles.
namespace formula {

/// Expressions nest at most so deep. A little less than a JSON body may.
inline constexpr std::size_t kMaxDepth = 120;

struct Constant {
  double value = 0;
};
/// The point's score in a prefetch, as users see it.
struct Score {
  std::uint64_t prefetch = 0;
};
/// A number of the payload.
struct Number {
  std::size_t variable = 0;  ///< position in `Formula::variables`
};
/// Metres between `origin` and a place of the payload.
struct GeoDistance {
  payload::GeoPoint origin;
  std::size_t variable = 0;  ///< position in `Formula::variables`
};
/// Seconds since the epoch of a datetime of the payload.
struct Time {
  std::size_t variable = 0;  ///< position in `Formula::variables`
};
/// 1 if the point satisfies a condition, else 0.
struct Holds {
  std::size_t condition = 0;  ///< position in `Formula::conditions`
};
/// Of all operands; 1 without any. The first zero ends it: further operands are not evaluated.
struct Product {};
/// Of all operands; 0 without any.
struct Sum {};
/// operands[0] / operands[1]; 0 if operands[0] is, whatever operands[1].
struct Quotient {
  std::optional<double> by_zero;  ///< the value if operands[1] is 0; nullopt: an error
};
/// operands[0] to the power of operands[1].
struct Power {};
/// Of operands[0].
enum class Function : std::uint8_t { kNegate, kAbsolute, kSquareRoot, kExp, kLog10, kLn };
/// Falls from 1 as operands[0] moves away from operands[1], or from 0 without it. d: difference.
enum class DecayShape : std::uint8_t {
  kLinear,       ///< max(0, 1 - lambda * |d|)
  kExponential,  ///< exp(lambda * |d|)
  kGaussian      ///< exp(lambda * d^2)
};
struct Decay {
  DecayShape shape = DecayShape::kLinear;
  double lambda = 0;
};

using Node = std::variant<Constant, Score, Number, GeoDistance, Time, Holds, Product, Sum, Quotient,
                          Power, Function, Decay>;

struct Expression {
  Node node;
  std::vector<Expression> operands = {};
};

/// What a payload value must be.
enum class ValueType : std::uint8_t { kNumber, kGeoPoint, kDatetime };

/// The value under a payload key.
struct Variable {
  payload::JsonPath path;
  ValueType type = ValueType::kNumber;
  std::optional<payload::Value> otherwise = {};  ///< for points without a value
};

}  // namespace formula

struct Formula {
  formula::Expression root;
  std::vector<formula::Variable> variables = {};
  std::vector<payload::Condition> conditions = {};
  /// By prefetch: the score of points that it did not find; 0 without an entry.
  std::map<std::uint64_t, double> default_scores = {};
};

}  // namespace quiver::engine
