// One test of the values under a key, prepared: literals sorted, bounds as closed intervals.
#pragma once

#include <cstdint>
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

namespace quiver::payload {

enum class ScalarType : std::uint8_t { kNone, kString, kInteger, kBool };

/// `match` with value, any or except: membership of an element in a list.
struct ValueTest {
  enum class Mode : std::uint8_t { kAnyOf, kNoneOf };
  Mode mode = Mode::kAnyOf;
  ScalarType type = ScalarType::kNone;  ///< of the list; kNone if it is empty
  bool uuids = false;                   ///< strings that are UUIDs compare as UUIDs
  std::vector<std::string> strings;     ///< ascending, distinct
  std::vector<std::int64_t> integers;   ///< ascending, distinct
  bool wants_false = false, wants_true = false;

  [[nodiscard]] bool has(const Value& element) const;
};

/// Under a text index tokens, elsewhere substrings.
struct TextTest {
  enum class Mode : std::uint8_t { kAll, kAny, kPhrase };
  Mode mode = Mode::kAll;
  bool tokens = false;
  TextOptions options;             ///< tokens
  std::vector<std::string> words;  ///< kAll and kAny of tokens: distinct

  [[nodiscard]] bool accepts(std::string_view text) const;
};

struct PrefixTest {
  std::string prefix;
};
struct RangeTest {
  Range range;
  Interval<std::int64_t> integers;
  Interval<double> doubles;
};
struct DatetimeTest {
  Interval<std::int64_t> micros;
};
struct GeoTest {
  std::variant<GeoBoundingBox, GeoRadius, GeoPolygon> shape;
  LatitudeRange latitudes;

  [[nodiscard]] bool accepts(const GeoPoint& point) const;
};

using PreparedTest = std::variant<ValueTest, TextTest, PrefixTest, RangeTest, DatetimeTest, GeoTest,
                                  ValuesCount, IsEmpty, IsNull>;

/// `index` is the one declared for the key, or null. kInvalidArgument as `compile` says.
[[nodiscard]] Result<PreparedTest> prepare(const FieldTest& test, const FieldIndex* index);

/// A test that asks whether some element satisfies something (not how many there are).
[[nodiscard]] bool is_existential(const PreparedTest& test);

/// Whether the values under `path` pass.
[[nodiscard]] bool passes(const PreparedTest& test, const Path& path, const Value& document);

}  // namespace quiver::payload
