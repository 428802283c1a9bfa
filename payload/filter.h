// The filter language as a tree: a request's filter before it is compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/variant.h"

namespace quiver::payload {

using MatchScalar = Variant<std::string, std::int64_t, bool>;

struct MatchValue {
  MatchScalar value;
};
/// True if an element equals one of `values`. An empty list matches nothing. All values have one
/// type.
struct MatchAny {
  std::vector<MatchScalar> values;
};
/// True if an element equals none of `values`. An empty list matches every non-null value.
struct MatchExcept {
  std::vector<MatchScalar> values;
};
/// Which words count as a word of a text condition, beside itself; see payload/text/resembling.h.
/// Wants a text index.
struct Similarity {
  std::uint32_t max_distance = 0;  ///< 0 to 2 insertions, deletions or changes of code points
  bool last_is_prefix = false;     ///< words that begin with the last word of the condition

  [[nodiscard]] bool is_none() const { return max_distance == 0 && !last_is_prefix; }
};
/// True if all tokens occur (text index), or `text` is a substring (no text index).
struct MatchText {
  std::string text;
  Similarity similarity = {};
};
struct MatchTextAny {
  std::string text;
  Similarity similarity = {};
};
/// True if the tokens occur in this order, adjacent.
struct MatchPhrase {
  std::string text;
  Similarity similarity = {};
};

/// True if a string element begins with it, byte by byte: no tokens, no case folding.
struct MatchPrefix {
  std::string prefix;
};

/// A number of a request. Integers keep their exact value.
using Number = std::variant<std::int64_t, std::uint64_t, double>;

struct Range {
  std::optional<Number> gt, gte, lt, lte;
};
/// Microseconds since the epoch, UTC.
struct DatetimeRange {
  std::optional<std::int64_t> gt, gte, lt, lte;
};

struct GeoPoint {
  double lon = 0;  ///< degrees, -180..180
  double lat = 0;  ///< degrees, -90..90
  bool operator==(const GeoPoint&) const = default;
};
struct GeoBoundingBox {
  GeoPoint top_left, bottom_right;
};
/// Points within `radius_m` metres of `center`, great-circle distance.
struct GeoRadius {
  GeoPoint center;
  double radius_m = 0;
};
/// Rings are closed: the first point equals the last.
struct GeoPolygon {
  std::vector<GeoPoint> exterior;
  std::vector<std::vector<GeoPoint>> interiors;
};

/// Bounds on the number of values: the size of an array, 0 for null or a missing key, else 1.
struct ValuesCount {
  std::optional<std::uint64_t> gt, gte, lt, lte;
};
/// True for missing, null or `[]`; with `value = false` true for the opposite.
struct IsEmpty {
  bool value = true;
};
/// True for an explicit null; with `value = false` true for the opposite.
struct IsNull {
  bool value = true;
  bool in_arrays = true;  ///< whether a null inside an array counts
};

/// What the values under one key must satisfy.
using ValueCondition = std::variant<MatchValue, MatchAny, MatchExcept, MatchText, MatchTextAny,
                                    MatchPhrase, MatchPrefix, Range, DatetimeRange, GeoBoundingBox,
                                    GeoRadius, GeoPolygon, ValuesCount, IsEmpty, IsNull>;

/// A condition on the values under one payload key.
struct FieldCondition {
  std::string key;  ///< as in the request; `compile` parses it
  ValueCondition condition;
};
struct HasId {
  std::vector<PointId> ids;
};
/// True if the point has a vector in this field ("" is the unnamed one).
struct HasVector {
  std::string name;
};

/// True for the points of one of `total` parts of the id space: a hash of the id, modulo `total`,
/// is `index`.
struct Slice {
  std::uint32_t total = 1;  ///< at least 1
  std::uint32_t index = 0;  ///< less than `total`
};

struct Filter;

/// True if an element of the array of objects under `key` satisfies the whole filter.
struct Nested {
  std::string key;
  std::shared_ptr<const Filter> filter;
};

using Condition =
    std::variant<FieldCondition, HasId, HasVector, Nested, std::shared_ptr<const Filter>, Slice>;

struct MinShould {
  std::vector<Condition> conditions;
  std::uint64_t min_count = 1;
};

/// True if all of `must`, at least one of `should` (unless it is empty), none of `must_not` and at
/// least `min_count` of `min_should` are true. An empty filter matches every point.
struct Filter {
  std::vector<Condition> must;
  std::vector<Condition> should;
  std::vector<Condition> must_not;
  std::optional<MinShould> min_should;

  [[nodiscard]] bool empty() const {
    return must.empty() && should.empty() && must_not.empty() && !min_should;
  }
};

}  // namespace quiver::payload
