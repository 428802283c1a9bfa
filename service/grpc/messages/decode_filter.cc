// Filters.
#include <fmt/format.h>

#include <cmath>

#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/timestamp.h"
#include "service/json/request_rules.h"

namespace quiver::service::rpc {
namespace {

using payload::Condition;
using payload::FieldCondition;
using payload::Filter;
using payload::MatchScalar;
using payload::ValueCondition;

template <class Values>
std::vector<MatchScalar> scalars(const Values& values) {
  return {values.begin(), values.end()};
}

template <class Test>
Decoded<ValueCondition> test(Test test) {
  return ValueCondition(std::move(test));
}

Decoded<ValueCondition> decode_match(const qdrant::Match& match, const Path& path) {
  const payload::Similarity similarity{match.fuzzy(), match.last_is_prefix()};
  QV_TRY(json::check_similarity(similarity, path));
  switch (match.match_value_case()) {
    case qdrant::Match::kKeyword:
      return test(payload::MatchValue{match.keyword()});
    case qdrant::Match::kInteger:
      return test(payload::MatchValue{std::int64_t{match.integer()}});
    case qdrant::Match::kBoolean:
      return test(payload::MatchValue{match.boolean()});
    case qdrant::Match::kText:
      return test(payload::MatchText{match.text(), similarity});
    case qdrant::Match::kTextAny:
      return test(payload::MatchTextAny{match.text_any(), similarity});
    case qdrant::Match::kPhrase:
      return test(payload::MatchPhrase{match.phrase(), similarity});
    case qdrant::Match::kPrefix:
      return test(payload::MatchPrefix{match.prefix()});
    case qdrant::Match::kKeywords:
      return test(payload::MatchAny{scalars(match.keywords().strings())});
    case qdrant::Match::kIntegers:
      return test(payload::MatchAny{scalars(match.integers().integers())});
    case qdrant::Match::kExceptKeywords:
      return test(payload::MatchExcept{scalars(match.except_keywords().strings())});
    case qdrant::Match::kExceptIntegers:
      return test(payload::MatchExcept{scalars(match.except_integers().integers())});
    case qdrant::Match::MATCH_VALUE_NOT_SET:
      break;
  }
  return format_error(path, "missing value to match");
}

template <class Range, class Message, class Convert>
Range decode_bounds(const Message& message, Convert convert) {
  Range range;
  if (message.has_gt()) range.gt = convert(message.gt());
  if (message.has_gte()) range.gte = convert(message.gte());
  if (message.has_lt()) range.lt = convert(message.lt());
  if (message.has_lte()) range.lte = convert(message.lte());
  return range;
}

Decoded<payload::GeoPoint> decode_point(const qdrant::GeoPoint& point, const Path& path) {
  const auto check = [&](std::string_view name, double value, double limit) -> Decoded<> {
    if (std::abs(value) <= limit) return {};
    return format_error(
        path.member(name),
        fmt::format("invalid type: floating point `{}`, expected -{} to {}", value, limit, limit));
  };
  QV_TRY(check("lon", point.lon(), 180));
  QV_TRY(check("lat", point.lat(), 90));
  return payload::GeoPoint{point.lon(), point.lat()};
}

Decoded<ValueCondition> decode_box(const qdrant::GeoBoundingBox& box, const Path& path) {
  payload::GeoBoundingBox decoded;
  QV_TRY(decoded.top_left, decode_point(box.top_left(), path.member("top_left")));
  QV_TRY(decoded.bottom_right, decode_point(box.bottom_right(), path.member("bottom_right")));
  return ValueCondition(decoded);
}

Decoded<ValueCondition> decode_radius(const qdrant::GeoRadius& circle, const Path& path) {
  payload::GeoRadius decoded;
  QV_TRY(decoded.center, decode_point(circle.center(), path.member("center")));
  decoded.radius_m = circle.radius();
  return ValueCondition(decoded);
}

Decoded<std::vector<payload::GeoPoint>> decode_ring(const qdrant::GeoLineString& line,
                                                    const Path& path) {
  const Path at_points = path.member("points");
  std::vector<payload::GeoPoint> ring;
  for (const auto& point : line.points()) {
    QV_TRY(const auto decoded, decode_point(point, at_points.item(ring.size())));
    ring.push_back(decoded);
  }
  QV_TRY(json::check_ring(ring, path));
  return ring;
}

Decoded<ValueCondition> decode_polygon(const qdrant::GeoPolygon& polygon, const Path& path) {
  payload::GeoPolygon decoded;
  QV_TRY(decoded.exterior, decode_ring(polygon.exterior(), path.member("exterior")));
  for (const auto& line : polygon.interiors()) {
    const Path parent = path.member("interiors");
    const Path here = parent.item(decoded.interiors.size());
    QV_TRY(auto ring, decode_ring(line, here));
    decoded.interiors.push_back(std::move(ring));
  }
  return ValueCondition(std::move(decoded));
}

/// Collects the tests of one field.
class Tests {
 public:
  explicit Tests(const std::string& key) : key_(key) {}

  Decoded<> add(Decoded<ValueCondition> decoded) {
    QV_TRY(auto condition, std::move(decoded));
    conditions_.push_back(FieldCondition{key_, std::move(condition)});
    return {};
  }
  /// The only test, or a filter of which one must hold.
  Decoded<Condition> take(const Path& path) {
    if (conditions_.empty()) {
      return validation_error(path, fmt::format("At least one field condition must be specified: "
                                                "the one on `{}` has no test",
                                                key_));
    }
    if (conditions_.size() == 1) return std::move(conditions_.front());
    Filter any;
    any.should = std::move(conditions_);
    return Condition(std::make_shared<const Filter>(std::move(any)));
  }

 private:
  const std::string& key_;
  std::vector<Condition> conditions_;
};

Decoded<> add_ranges(const qdrant::FieldCondition& field, Tests& tests) {
  if (field.has_range()) {
    QV_TRY(tests.add(ValueCondition(decode_bounds<payload::Range>(
        field.range(), [](double bound) { return payload::Number(bound); }))));
  }
  if (field.has_datetime_range()) {
    QV_TRY(tests.add(ValueCondition(
        decode_bounds<payload::DatetimeRange>(field.datetime_range(), microseconds))));
  }
  if (field.has_values_count()) {
    QV_TRY(tests.add(ValueCondition(decode_bounds<payload::ValuesCount>(
        field.values_count(), [](std::uint64_t bound) { return bound; }))));
  }
  return {};
}

Decoded<> add_shapes(const qdrant::FieldCondition& field, const Path& path, Tests& tests) {
  if (field.has_geo_bounding_box()) {
    QV_TRY(tests.add(decode_box(field.geo_bounding_box(), path.member("geo_bounding_box"))));
  }
  if (field.has_geo_radius()) {
    QV_TRY(tests.add(decode_radius(field.geo_radius(), path.member("geo_radius"))));
  }
  if (field.has_geo_polygon()) {
    QV_TRY(tests.add(decode_polygon(field.geo_polygon(), path.member("geo_polygon"))));
  }
  return {};
}

Decoded<> check_key(const std::string& key, const Path& path) {
  const auto parsed = payload::JsonPath::parse(key);
  if (parsed) return {};
  return format_error(path.member("key"), parsed.error().message());
}

Decoded<Condition> decode_field(const qdrant::FieldCondition& field, const Path& path) {
  QV_TRY(check_key(field.key(), path));
  Tests tests(field.key());
  if (field.has_match()) QV_TRY(tests.add(decode_match(field.match(), path.member("match"))));
  QV_TRY(add_ranges(field, tests));
  QV_TRY(add_shapes(field, path, tests));
  if (field.has_is_empty()) QV_TRY(tests.add(test(payload::IsEmpty{field.is_empty()})));
  if (field.has_is_null()) QV_TRY(tests.add(test(payload::IsNull{field.is_null()})));
  return tests.take(path);
}

Decoded<Condition> decode_slice(const qdrant::SliceCondition& slice, const Path& path) {
  const payload::Slice decoded{slice.total(), slice.index()};
  QV_TRY(json::check_slice(decoded, path));
  return Condition(decoded);
}

Decoded<Condition> decode_subfilter(const qdrant::Filter& filter, const Path& path) {
  QV_TRY(auto decoded, decode_filter(filter, path));
  return Condition(std::make_shared<const Filter>(std::move(decoded)));
}

Decoded<Condition> decode_condition(const qdrant::Condition& condition, const Path& path) {
  switch (condition.condition_one_of_case()) {
    case qdrant::Condition::kField:
      return decode_field(condition.field(), path);
    case qdrant::Condition::kIsEmpty:
      return Condition(FieldCondition{condition.is_empty().key(), payload::IsEmpty{true}});
    case qdrant::Condition::kIsNull:
      return Condition(FieldCondition{condition.is_null().key(), payload::IsNull{true, false}});
    case qdrant::Condition::kHasId: {
      QV_TRY(auto ids, decode_ids(condition.has_id().has_id(), path.member("has_id")));
      return Condition(payload::HasId{std::move(ids)});
    }
    case qdrant::Condition::kHasVector:
      return Condition(payload::HasVector{condition.has_vector().has_vector()});
    case qdrant::Condition::kNested: {
      const auto& nested = condition.nested();
      const Path here = path.member("nested");
      QV_TRY(auto filter, decode_filter(nested.filter(), here.member("filter")));
      return Condition(
          payload::Nested{nested.key(), std::make_shared<const Filter>(std::move(filter))});
    }
    case qdrant::Condition::kFilter:
      return decode_subfilter(condition.filter(), path);
    case qdrant::Condition::kSlice:
      return decode_slice(condition.slice(), path.member("slice"));
    case qdrant::Condition::CONDITION_ONE_OF_NOT_SET:
      break;
  }
  return format_error(path, "missing condition");
}

using Conditions = google::protobuf::RepeatedPtrField<qdrant::Condition>;

Decoded<std::vector<Condition>> decode_conditions(const Conditions& conditions, const Path& path) {
  std::vector<Condition> decoded;
  decoded.reserve(static_cast<std::size_t>(conditions.size()));
  for (const auto& condition : conditions) {
    QV_TRY(auto one, decode_condition(condition, path.item(decoded.size())));
    decoded.push_back(std::move(one));
  }
  return decoded;
}

}  // namespace

Decoded<Condition> decode_one_condition(const qdrant::Condition& condition, const Path& path) {
  return decode_condition(condition, path);
}

Decoded<Filter> decode_filter(const qdrant::Filter& filter, const Path& path) {
  Filter decoded;
  QV_TRY(decoded.must, decode_conditions(filter.must(), path.member("must")));
  QV_TRY(decoded.should, decode_conditions(filter.should(), path.member("should")));
  QV_TRY(decoded.must_not, decode_conditions(filter.must_not(), path.member("must_not")));
  if (filter.has_min_should()) {
    payload::MinShould& min_should = decoded.min_should.emplace();
    const Path parent = path.member("min_should");
    const Path here = parent.member("conditions");
    QV_TRY(min_should.conditions, decode_conditions(filter.min_should().conditions(), here));
    min_should.min_count = filter.min_should().min_count();
  }
  return decoded;
}

}  // namespace quiver::service::rpc
