// The filter language as a tree: what a request says, before it meets any data.
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

namespace quiver::payload {

using MatchScalar = std::variant<std::string, std::int64_t, bool>;

struct MatchValue {
  MatchScalar value;
};
/// Some element equals some of these; empty matches nothing. All of one type.
struct MatchAny {
  std::vector<MatchScalar> values;
};
/// Some element equals none of these; empty matches every present value.
struct MatchExcept {
  std::vector<MatchScalar> values;
};
/// All tokens occur (text index), or `text` is a substring (no text index).
struct MatchText {
  std::string text;
};
struct MatchTextAny {
  std::string text;
};
/// Tokens occur in this order, adjacent.
struct MatchPhrase {
  std::string text;
};

/// Some string element begins with it, as it is written: no tokens, no case folding.
struct MatchPrefix {
  std::string prefix;
};

/// A number of a request: integers keep their exact value.
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
/// `radius_m` in metres, great-circle distance.
struct GeoRadius {
  GeoPoint center;
  double radius_m = 0;
};
/// Rings are closed (first point == last point).
struct GeoPolygon {
  std::vector<GeoPoint> exterior;
  std::vector<std::vector<GeoPoint>> interiors;
};

/// Of an array its size, of null or a missing key 0, of anything else 1.
struct ValuesCount {
  std::optional<std::uint64_t> gt, gte, lt, lte;
};
/// Missing, null or `[]` (== true); `{"is_empty": false}` asks for the opposite.
struct IsEmpty {
  bool value = true;
};
/// An explicit null, also inside an array.
struct IsNull {
  bool value = true;
};

using FieldTest = std::variant<MatchValue, MatchAny, MatchExcept, MatchText, MatchTextAny,
                               MatchPhrase, MatchPrefix, Range, DatetimeRange, GeoBoundingBox,
                               GeoRadius, GeoPolygon, ValuesCount, IsEmpty, IsNull>;

/// A test of the values under one payload key.
struct FieldCondition {
  std::string key;  ///< as written; parsed (and refused if malformed) by `compile`
  FieldTest test;
};
struct HasId {
  std::vector<PointId> ids;
};
/// The point has a vector in this field ("" is the unnamed one).
struct HasVector {
  std::string name;
};

struct Filter;

/// Some element of the array of objects under `key` satisfies the whole filter.
struct Nested {
  std::string key;
  std::shared_ptr<const Filter> filter;
};

using Condition =
    std::variant<FieldCondition, HasId, HasVector, Nested, std::shared_ptr<const Filter>>;

struct MinShould {
  std::vector<Condition> conditions;
  std::uint64_t min_count = 1;
};

/// All of `must`, at least one of `should` (if any are given), none of `must_not`, and at least
/// `min_count` of `min_should`. An empty filter matches every point.
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
