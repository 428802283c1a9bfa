// A prepared condition on the values under one key: literals sorted, bounds as closed intervals.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "payload/filter.h"
#include "payload/json/document.h"
#include "payload/json/path.h"
#include "payload/scalar/geo.h"
#include "payload/scalar/number.h"
#include "payload/schema.h"
#include "payload/text/analyzer.h"
#include "payload/text/resembling.h"

namespace quiver::payload {

enum class ScalarType : std::uint8_t { kNone, kString, kInteger, kBool };

/// `match` with value, any or except: is an element in the list?
struct MembershipCondition {
  enum class Mode : std::uint8_t { kAnyOf, kNoneOf };
  Mode mode = Mode::kAnyOf;
  ScalarType type = ScalarType::kNone;  ///< type of the list; kNone if it is empty
  /// The form in which strings compare (IndexTraits::canonical); nullptr: unchanged.
  std::string (*canonical)(const std::string& text) = nullptr;
  std::vector<std::string> strings;    ///< ascending, distinct
  std::vector<std::int64_t> integers;  ///< ascending, distinct
  bool wants_false = false, wants_true = false;

  [[nodiscard]] bool has(const Value& element) const;
};

/// Compares tokens under a text index, substrings otherwise.
struct TextCondition {
  enum class Mode : std::uint8_t { kAll, kAny, kPhrase };
  Mode mode = Mode::kAll;
  bool tokens = false;
  std::shared_ptr<const AnalyzerPool> analyzers;  ///< with `tokens`
  std::vector<std::string> words;                 ///< tokens with kAll and kAny: distinct
  /// The words in order, if others may stand for them; else empty. Only with `tokens`.
  std::vector<Resembling> patterns = {};

  [[nodiscard]] bool accepts(std::string_view text) const;
};

struct PrefixCondition {
  std::string prefix;
};
struct RangeCondition {
  Range range;
  Interval<std::int64_t> integers;
  Interval<double> doubles;
};
struct DatetimeCondition {
  Interval<std::int64_t> micros;
};
struct GeoCondition {
  std::variant<GeoBoundingBox, GeoRadius, GeoPolygon> shape;
  LatitudeRange latitudes;

  [[nodiscard]] bool accepts(const GeoPoint& point) const;
};

using PreparedCondition =
    std::variant<MembershipCondition, TextCondition, PrefixCondition, RangeCondition,
                 DatetimeCondition, GeoCondition, ValuesCount, IsEmpty, IsNull>;

/// Prepares a condition. `index` is the index declared for the key, or null. Errors:
/// kInvalidArgument as for `compile`.
[[nodiscard]] Result<PreparedCondition> prepare(const ValueCondition& condition,
                                                const FieldIndex* index);

/// True if the condition asks whether some element satisfies something (not how many do).
[[nodiscard]] bool is_existential(const PreparedCondition& condition);

/// True if the values under `path` satisfy the condition.
[[nodiscard]] bool passes(const PreparedCondition& condition, const JsonPath& path,
                          const Value& document);

}  // namespace quiver::payload
