#include "payload/filter/field_test.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "payload/scalar/datetime.h"
#include "payload/scalar/text.h"

namespace quiver::payload {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

template <class T>
void sort_unique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

std::string canonical(const std::string& text, bool uuids) {
  if (!uuids) return text;
  const auto uuid = PointId::parse_uuid(text);
  return uuid ? uuid->to_string() : text;
}

ScalarType type_of(const MatchScalar& scalar) {
  if (std::holds_alternative<std::string>(scalar)) return ScalarType::kString;
  return std::holds_alternative<bool>(scalar) ? ScalarType::kBool : ScalarType::kInteger;
}

void add_scalar(ValueTest& test, const MatchScalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar)) {
    test.strings.push_back(canonical(*text, test.uuids));
  } else if (const auto* flag = std::get_if<bool>(&scalar)) {
    (*flag ? test.wants_true : test.wants_false) = true;
  } else {
    test.integers.push_back(std::get<std::int64_t>(scalar));
  }
}

Result<PreparedTest> prepare_values(ValueTest::Mode mode, const std::vector<MatchScalar>& scalars,
                                    const FieldIndex* index) {
  ValueTest test;
  test.mode = mode;
  test.uuids = index != nullptr && index->kind == IndexKind::kUuid;
  for (const auto& scalar : scalars) {
    if (test.type != ScalarType::kNone && test.type != type_of(scalar)) {
      return fail(Code::kInvalidArgument,
                  "a match list mixes types; all values must be strings or all integers");
    }
    test.type = type_of(scalar);
    add_scalar(test, scalar);
  }
  sort_unique(test.strings);
  sort_unique(test.integers);
  return PreparedTest(std::move(test));
}

std::vector<std::string> split_at_spaces(std::string_view text) {
  TextOptions options;
  options.tokenizer = Tokenizer::kWhitespace;
  options.lowercase = false;
  return tokenize(text, options);
}

PreparedTest prepare_text(TextTest::Mode mode, const std::string& text, const FieldIndex* index) {
  TextTest test;
  test.mode = mode;
  test.tokens = index != nullptr && index->kind == IndexKind::kText;
  if (test.tokens) {
    test.options = index->text;
    test.words = tokenize(text, index->text);
    if (mode != TextTest::Mode::kPhrase) sort_unique(test.words);
  } else {
    test.words =
        mode == TextTest::Mode::kAny ? split_at_spaces(text) : std::vector<std::string>{text};
  }
  return test;
}

Result<> check_point(const GeoPoint& point) {
  if (is_on_globe(point)) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("geo point lon {}, lat {} is not within -180..180 and -90..90", point.lon,
                          point.lat));
}

Result<> check_ring(const std::vector<GeoPoint>& ring) {
  if (ring.size() < 4) {
    return fail(Code::kInvalidArgument,
                fmt::format("polygon invalid, the size must be at least 4, got {}", ring.size()));
  }
  if (!(ring.front() == ring.back())) {
    return fail(Code::kInvalidArgument,
                "polygon invalid, the first and the last points should be the same");
  }
  for (const GeoPoint& point : ring) QV_TRY(check_point(point));
  return {};
}

Result<> check_shape(const GeoBoundingBox& box) {
  QV_TRY(check_point(box.top_left));
  return check_point(box.bottom_right);
}
Result<> check_shape(const GeoRadius& circle) { return check_point(circle.center); }
Result<> check_shape(const GeoPolygon& polygon) {
  QV_TRY(check_ring(polygon.exterior));
  for (const auto& ring : polygon.interiors) QV_TRY(check_ring(ring));
  return {};
}

template <class Shape>
Result<PreparedTest> prepare_geo(const Shape& shape) {
  QV_TRY(check_shape(shape));
  return PreparedTest(GeoTest{shape, latitudes(shape)});
}

bool contains_phrase(const std::vector<std::string>& tokens,
                     const std::vector<std::string>& phrase) {
  return std::search(tokens.begin(), tokens.end(), phrase.begin(), phrase.end()) != tokens.end();
}

bool element_passes(const ValueTest& test, const Value& element) {
  if (test.mode == ValueTest::Mode::kAnyOf) return test.has(element);
  return !element.is_null() && !test.has(element);
}
bool element_passes(const TextTest& test, const Value& element) {
  const std::string* text = element.as_string();
  return text != nullptr && test.accepts(*text);
}
bool element_passes(const PrefixTest& test, const Value& element) {
  const std::string* text = element.as_string();
  return text != nullptr && text->starts_with(test.prefix);
}
bool element_passes(const RangeTest& test, const Value& element) {
  const auto number = as_number(element);
  return number && in_range(test.range, *number);
}
bool element_passes(const DatetimeTest& test, const Value& element) {
  const std::string* text = element.as_string();
  const auto micros = text == nullptr ? std::nullopt : parse_datetime(*text);
  return micros && test.micros.contains(*micros);
}
bool element_passes(const GeoTest& test, const Value& element) {
  const auto point = as_geo_point(element);
  return point && test.accepts(*point);
}

template <class Test>
bool document_passes(const Test& test, const Path& path, const Value& document) {
  bool found = false;
  for_each_element(document, path,
                   [&](const Value& element) { found = found || element_passes(test, element); });
  return found;
}
bool document_passes(const ValuesCount& test, const Path& path, const Value& document) {
  bool found = false;
  bool is_missing = true;
  for_each_value(document, path, [&](const Value& value) {
    const Array* array = value.as_array();
    const std::uint64_t count = value.is_null() ? 0 : array == nullptr ? 1 : array->size();
    found = found || in_range(test, count);
    is_missing = false;
  });
  return is_missing ? in_range(test, 0) : found;
}
bool document_passes(const IsEmpty& test, const Path& path, const Value& document) {
  bool empty = true;
  for_each_value(document, path, [&](const Value& value) {
    const Array* array = value.as_array();
    empty = empty && (value.is_null() || (array != nullptr && array->empty()));
  });
  return empty == test.value;
}
bool document_passes(const IsNull& test, const Path& path, const Value& document) {
  bool null = false;
  for_each_element(document, path, [&](const Value& element) { null = null || element.is_null(); });
  return null == test.value;
}

}  // namespace

bool ValueTest::has(const Value& element) const {
  if (const auto* text = element.as_string()) {
    if (strings.empty()) return false;
    return uuids ? std::binary_search(strings.begin(), strings.end(), canonical(*text, true))
                 : std::binary_search(strings.begin(), strings.end(), *text);
  }
  if (const auto* integer = element.as_i64()) {
    return std::binary_search(integers.begin(), integers.end(), *integer);
  }
  const auto* flag = element.as_bool();
  return flag != nullptr && (*flag ? wants_true : wants_false);
}

bool TextTest::accepts(std::string_view text) const {
  if (words.empty()) return false;
  if (!tokens) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return text.find(word) != std::string_view::npos;
    });
  }
  const auto found = tokenize(text, options);
  if (mode == Mode::kPhrase) return contains_phrase(found, words);
  const auto occurs = [&](const std::string& word) {
    return std::find(found.begin(), found.end(), word) != found.end();
  };
  return mode == Mode::kAll ? std::all_of(words.begin(), words.end(), occurs)
                            : std::any_of(words.begin(), words.end(), occurs);
}

bool GeoTest::accepts(const GeoPoint& point) const {
  return point.lat >= latitudes.low && point.lat <= latitudes.high &&
         std::visit([&](const auto& area) { return contains(area, point); }, shape);
}

Result<PreparedTest> prepare(const FieldTest& field_test, const FieldIndex* index) {
  using Mode = ValueTest::Mode;
  using Out = Result<PreparedTest>;
  return std::visit(
      Overloaded{
          [&](const MatchValue& t) -> Out {
            return prepare_values(Mode::kAnyOf, {t.value}, index);
          },
          [&](const MatchAny& t) -> Out { return prepare_values(Mode::kAnyOf, t.values, index); },
          [&](const MatchExcept& t) -> Out {
            return prepare_values(Mode::kNoneOf, t.values, index);
          },
          [&](const MatchText& t) -> Out {
            return prepare_text(TextTest::Mode::kAll, t.text, index);
          },
          [&](const MatchTextAny& t) -> Out {
            return prepare_text(TextTest::Mode::kAny, t.text, index);
          },
          [&](const MatchPhrase& t) -> Out {
            return prepare_text(TextTest::Mode::kPhrase, t.text, index);
          },
          [&](const MatchPrefix& t) -> Out { return PreparedTest(PrefixTest{t.prefix}); },
          [&](const Range& t) -> Out {
            return PreparedTest(RangeTest{t, integers_in(t), doubles_in(t)});
          },
          [&](const DatetimeRange& t) -> Out { return PreparedTest(DatetimeTest{integers_in(t)}); },
          [&](const GeoBoundingBox& t) -> Out { return prepare_geo(t); },
          [&](const GeoRadius& t) -> Out { return prepare_geo(t); },
          [&](const GeoPolygon& t) -> Out { return prepare_geo(t); },
          [&](const auto& t) -> Out { return PreparedTest(t); },
      },
      field_test);
}

bool is_existential(const PreparedTest& test) {
  return !std::holds_alternative<ValuesCount>(test) && !std::holds_alternative<IsEmpty>(test) &&
         !std::holds_alternative<IsNull>(test);
}

bool passes(const PreparedTest& test, const Path& path, const Value& document) {
  return std::visit([&](const auto& t) { return document_passes(t, path, document); }, test);
}

}  // namespace quiver::payload
