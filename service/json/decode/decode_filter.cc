// Filters. Unknown members are errors here, unlike elsewhere: a misspelt condition that is ignored
// would silently return, or delete, the wrong points.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "payload/scalar/datetime.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/request_rules.h"

namespace quiver::service::json {
namespace {

using payload::Condition;
using payload::FieldCondition;
using payload::Filter;
using payload::GeoPoint;
using payload::MatchScalar;
using payload::Number;
using payload::ValueCondition;

constexpr std::string_view kDatetimeHelp = "a number or a datetime (RFC 3339)";

Decoded<Number> decode_number(Element element, const Path& path) {
  switch (element.type()) {
    case simdjson::dom::element_type::INT64:
      return Number(as_int64(element));
    case simdjson::dom::element_type::UINT64:
      return Number(as_uint64(element));
    case simdjson::dom::element_type::DOUBLE:
      return Number(as_double(element));
    default:
      return wrong_type(element, path, "a number");
  }
}

Decoded<MatchScalar> decode_scalar(Element element, const Path& path) {
  switch (element.type()) {
    case simdjson::dom::element_type::STRING:
      return MatchScalar(std::string(as_string(element)));
    case simdjson::dom::element_type::INT64:
      return MatchScalar(as_int64(element));
    case simdjson::dom::element_type::BOOL:
      return MatchScalar(as_bool(element));
    default:
      return wrong_type(element, path, "a string, a 64-bit integer or a boolean");
  }
}

Decoded<std::vector<MatchScalar>> decode_scalars(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  std::vector<MatchScalar> values;
  values.reserve(array.size());
  for (const Element item : array) {
    const Path here = path.item(values.size());
    QV_TRY(auto value, decode_scalar(item, here));
    if (std::holds_alternative<bool>(value) ||
        (!values.empty() && values.front().index() != value.index())) {
      return wrong_type(item, here, "only strings or only integers");
    }
    values.push_back(std::move(value));
  }
  return values;
}

/// A condition on the words of a text. Of our own: "fuzzy", and "prefix" beside the text.
template <class Test>
Decoded<ValueCondition> decode_text(Element element, const Path& path, Object match,
                                    const Path& parent) {
  QV_TRY(const auto text, get_string(element, path));
  payload::Similarity similarity;
  if (const auto fuzzy = find(match, "fuzzy")) {
    QV_TRY(similarity.max_distance, get_u32(*fuzzy, parent.member("fuzzy")));
  }
  if (const auto prefix = find(match, "prefix")) {
    QV_TRY(similarity.last_is_prefix, get_bool(*prefix, parent.member("prefix")));
  }
  QV_TRY(check_similarity(similarity, parent));
  return ValueCondition(Test{std::string(text), similarity});
}

Decoded<ValueCondition> decode_match(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(
      object, path, {"value", "any", "except", "text", "text_any", "phrase", "prefix", "fuzzy"}));
  if (const auto value = find(object, "value")) {
    QV_TRY(auto scalar, decode_scalar(*value, path.member("value")));
    return ValueCondition(payload::MatchValue{std::move(scalar)});
  }
  if (const auto any = find(object, "any")) {
    QV_TRY(auto values, decode_scalars(*any, path.member("any")));
    return ValueCondition(payload::MatchAny{std::move(values)});
  }
  if (const auto except = find(object, "except")) {
    QV_TRY(auto values, decode_scalars(*except, path.member("except")));
    return ValueCondition(payload::MatchExcept{std::move(values)});
  }
  if (const auto text = find(object, "text")) {
    return decode_text<payload::MatchText>(*text, path.member("text"), object, path);
  }
  if (const auto text = find(object, "text_any")) {
    return decode_text<payload::MatchTextAny>(*text, path.member("text_any"), object, path);
  }
  if (const auto text = find(object, "phrase")) {
    return decode_text<payload::MatchPhrase>(*text, path.member("phrase"), object, path);
  }
  if (const auto prefix = find(object, "prefix")) {
    QV_TRY(const auto start, get_string(*prefix, path.member("prefix")));
    return ValueCondition(payload::MatchPrefix{std::string(start)});
  }
  return format_error(
      path, "expected one of `value`, `any`, `except`, `text`, `text_any`, `phrase`, `prefix`");
}

/// Fills the four bounds of a range from the members of the same names.
template <class Range, class Decode>
Decoded<Range> decode_bounds(Object object, const Path& path, Decode decode) {
  Range range;
  const auto bound = [&](std::string_view name, auto& out) -> Decoded<> {
    if (const auto element = find(object, name)) {
      QV_TRY(out, decode(*element, path.member(name)));
    }
    return {};
  };
  QV_TRY(bound("gt", range.gt));
  QV_TRY(bound("gte", range.gte));
  QV_TRY(bound("lt", range.lt));
  QV_TRY(bound("lte", range.lte));
  return range;
}

Decoded<std::int64_t> decode_time(Element element, const Path& path) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    if (const auto time = payload::parse_datetime(text)) return *time;
  }
  return wrong_type(element, path, kDatetimeHelp);
}

Decoded<ValueCondition> decode_range(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"gt", "gte", "lt", "lte"}));
  bool has_text = false;
  for (const auto [name, value] : object) has_text = has_text || value.is_string();
  if (has_text) {
    QV_TRY(auto range, decode_bounds<payload::DatetimeRange>(object, path, decode_time));
    return ValueCondition(range);
  }
  QV_TRY(auto range, decode_bounds<payload::Range>(object, path, decode_number));
  return ValueCondition(std::move(range));
}

Decoded<ValueCondition> decode_values_count(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"gt", "gte", "lt", "lte"}));
  QV_TRY(auto range, decode_bounds<payload::ValuesCount>(object, path, get_u64));
  return ValueCondition(range);
}

Decoded<GeoPoint> decode_geo_point(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element lon, require(object, "lon", path));
  QV_TRY(const Element lat, require(object, "lat", path));
  GeoPoint point;
  QV_TRY(point.lon, get_f64(lon, path.member("lon")));
  QV_TRY(point.lat, get_f64(lat, path.member("lat")));
  if (std::abs(point.lon) > 180) return wrong_type(lon, path.member("lon"), "-180 to 180");
  if (std::abs(point.lat) > 90) return wrong_type(lat, path.member("lat"), "-90 to 90");
  return point;
}

Decoded<GeoPoint> decode_corner(Object object, std::string_view name, const Path& path) {
  QV_TRY(const Element corner, require(object, name, path));
  return decode_geo_point(corner, path.member(name));
}

Decoded<ValueCondition> decode_geo_box(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  payload::GeoBoundingBox box;
  QV_TRY(box.top_left, decode_corner(object, "top_left", path));
  QV_TRY(box.bottom_right, decode_corner(object, "bottom_right", path));
  return ValueCondition(box);
}

Decoded<ValueCondition> decode_geo_radius(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  payload::GeoRadius circle;
  QV_TRY(circle.center, decode_corner(object, "center", path));
  QV_TRY(const Element radius, require(object, "radius", path));
  QV_TRY(circle.radius_m, get_f64(radius, path.member("radius")));
  return ValueCondition(circle);
}

Decoded<std::vector<GeoPoint>> decode_ring(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element points, require(object, "points", path));
  const Path at_points = path.member("points");
  QV_TRY(const Array array, get_array(points, at_points));
  std::vector<GeoPoint> ring;
  for (const Element item : array) {
    QV_TRY(const auto point, decode_geo_point(item, at_points.item(ring.size())));
    ring.push_back(point);
  }
  QV_TRY(check_ring(ring, path));
  return ring;
}

Decoded<ValueCondition> decode_geo_polygon(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  payload::GeoPolygon polygon;
  QV_TRY(const Element exterior, require(object, "exterior", path));
  QV_TRY(polygon.exterior, decode_ring(exterior, path.member("exterior")));
  if (const auto interiors = find(object, "interiors")) {
    const Path here = path.member("interiors");
    QV_TRY(const Array array, get_array(*interiors, here));
    for (const Element item : array) {
      QV_TRY(auto ring, decode_ring(item, here.item(polygon.interiors.size())));
      polygon.interiors.push_back(std::move(ring));
    }
  }
  return ValueCondition(std::move(polygon));
}

template <class Test>
Decoded<ValueCondition> decode_flag(Element element, const Path& path) {
  QV_TRY(const bool value, get_bool(element, path));
  return ValueCondition(Test{value});
}

using TestDecoder = Decoded<ValueCondition> (*)(Element, const Path&);
struct NamedTest {
  std::string_view name;
  TestDecoder decode;
};
constexpr NamedTest kTests[] = {
    {"match", decode_match},
    {"range", decode_range},
    {"geo_bounding_box", decode_geo_box},
    {"geo_radius", decode_geo_radius},
    {"geo_polygon", decode_geo_polygon},
    {"values_count", decode_values_count},
    {"is_empty", decode_flag<payload::IsEmpty>},
    {"is_null", decode_flag<payload::IsNull>},
};

/// Decodes {"key": …, <test>}. If there are several tests one of them must hold, as in Qdrant.
Decoded<Condition> decode_field(Object object, const Path& path) {
  QV_TRY(check_members(object, path,
                       {"key", "match", "range", "geo_bounding_box", "geo_radius", "geo_polygon",
                        "values_count", "is_empty", "is_null"}));
  QV_TRY(const Element key_element, require(object, "key", path));
  QV_TRY(const auto key, get_string(key_element, path.member("key")));
  if (auto parsed = payload::JsonPath::parse(key); !parsed) {
    return format_error(path.member("key"), parsed.error().message());
  }
  std::vector<Condition> conditions;
  for (const auto& [name, decode] : kTests) {
    const auto element = find(object, name);
    if (!element) continue;
    QV_TRY(auto test, decode(*element, path.member(name)));
    conditions.push_back(FieldCondition{std::string(key), std::move(test)});
  }
  if (conditions.empty()) {
    return validation_error(
        path, fmt::format("At least one field condition must be specified: the one on `{}` has no "
                          "test, expected one of `match`, `range`, `geo_bounding_box`, "
                          "`geo_radius`, `geo_polygon`, `values_count`, `is_empty`, `is_null`",
                          key));
  }
  if (conditions.size() == 1) return std::move(conditions.front());
  Filter any;
  any.should = std::move(conditions);
  return Condition(std::make_shared<const Filter>(std::move(any)));
}

/// Decodes {"is_empty": {"key": …}}.
Decoded<Condition> decode_wrapped_key(Element element, const Path& path, ValueCondition test) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"key"}));
  QV_TRY(const Element key_element, require(object, "key", path));
  QV_TRY(const auto key, get_string(key_element, path.member("key")));
  return Condition(FieldCondition{std::string(key), std::move(test)});
}
Decoded<Condition> decode_wrapped_is_empty(Element element, const Path& path) {
  return decode_wrapped_key(element, path, payload::IsEmpty{});
}
/// Unlike `is_null` beside a key, as in Qdrant, it does not look into arrays.
Decoded<Condition> decode_wrapped_is_null(Element element, const Path& path) {
  return decode_wrapped_key(element, path, payload::IsNull{.value = true, .in_arrays = false});
}

Decoded<Condition> decode_has_id(Element element, const Path& path) {
  QV_TRY(auto ids, decode_ids(element, path));
  return Condition(payload::HasId{std::move(ids)});
}

Decoded<Condition> decode_has_vector(Element element, const Path& path) {
  QV_TRY(const auto name, get_string(element, path));
  return Condition(payload::HasVector{std::string(name)});
}

Decoded<Condition> decode_nested(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"key", "filter"}));
  QV_TRY(const Element key_element, require(object, "key", path));
  QV_TRY(const auto key, get_string(key_element, path.member("key")));
  QV_TRY(const Element filter_element, require(object, "filter", path));
  QV_TRY(auto filter, decode_filter(filter_element, path.member("filter")));
  return Condition(
      payload::Nested{std::string(key), std::make_shared<const Filter>(std::move(filter))});
}

Decoded<std::uint32_t> decode_u32(Object object, std::string_view name, const Path& path) {
  QV_TRY(const Element element, require(object, name, path));
  QV_TRY(const std::uint64_t value, get_u64(element, path.member(name)));
  if (value <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(value);
  return wrong_type(element, path.member(name), "a 32-bit unsigned integer");
}

Decoded<Condition> decode_slice(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"total", "index"}));
  payload::Slice slice;
  QV_TRY(slice.total, decode_u32(object, "total", path));
  QV_TRY(slice.index, decode_u32(object, "index", path));
  QV_TRY(check_slice(slice, path));
  return Condition(slice);
}

struct NamedCondition {
  std::string_view name;
  Decoded<Condition> (*decode)(Element, const Path&);
};
/// Conditions that are an object with only this member.
constexpr NamedCondition kConditions[] = {
    {"is_empty", decode_wrapped_is_empty},
    {"is_null", decode_wrapped_is_null},
    {"has_id", decode_has_id},
    {"has_vector", decode_has_vector},
    {"nested", decode_nested},
    {"slice", decode_slice},
};

Decoded<Condition> decode_condition(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  if (find(object, "key")) return decode_field(object, path);
  for (const auto& [name, decode] : kConditions) {
    const auto value = find(object, name);
    if (!value) continue;
    QV_TRY(check_members(object, path, {name}));
    return decode(*value, path.member(name));
  }
  QV_TRY(auto filter, decode_filter(element, path));
  return Condition(std::make_shared<const Filter>(std::move(filter)));
}

/// One condition, or a list of them.
Decoded<std::vector<Condition>> decode_conditions(Element element, const Path& path) {
  std::vector<Condition> conditions;
  if (!element.is_array()) {
    QV_TRY(auto condition, decode_condition(element, path));
    conditions.push_back(std::move(condition));
    return conditions;
  }
  for (const Element item : as_array(element)) {
    QV_TRY(auto condition, decode_condition(item, path.item(conditions.size())));
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

Decoded<payload::MinShould> decode_min_should(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"conditions", "min_count"}));
  payload::MinShould min_should;
  QV_TRY(const Element conditions, require(object, "conditions", path));
  QV_TRY(min_should.conditions, decode_conditions(conditions, path.member("conditions")));
  QV_TRY(const Element min_count, require(object, "min_count", path));
  QV_TRY(min_should.min_count, get_u64(min_count, path.member("min_count")));
  return min_should;
}

}  // namespace

Decoded<Condition> decode_one_condition(Element element, const Path& path) {
  return decode_condition(element, path);
}

Decoded<Filter> decode_filter(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"should", "min_should", "must", "must_not"}));
  Filter filter;
  if (const auto must = find(object, "must")) {
    QV_TRY(filter.must, decode_conditions(*must, path.member("must")));
  }
  if (const auto should = find(object, "should")) {
    QV_TRY(filter.should, decode_conditions(*should, path.member("should")));
  }
  if (const auto must_not = find(object, "must_not")) {
    QV_TRY(filter.must_not, decode_conditions(*must_not, path.member("must_not")));
  }
  if (const auto min_should = find(object, "min_should")) {
    QV_TRY(filter.min_should, decode_min_should(*min_should, path.member("min_should")));
  }
  return filter;
}

}  // namespace quiver::service::json
