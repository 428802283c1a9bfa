#include "payload/filter/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "payload/column/kinds.h"
#include "payload/scalar/datetime.h"
#include "payload/text/analyzer.h"

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

ScalarType type_of(const MatchScalar& scalar) {
  if (std::holds_alternative<std::string>(scalar)) return ScalarType::kString;
  return std::holds_alternative<bool>(scalar) ? ScalarType::kBool : ScalarType::kInteger;
}

void add_scalar(MembershipCondition& condition, const MatchScalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar)) {
    condition.strings.push_back(condition.canonical ? condition.canonical(*text) : *text);
  } else if (const auto* flag = std::get_if<bool>(&scalar)) {
    (*flag ? condition.wants_true : condition.wants_false) = true;
  } else {
    condition.integers.push_back(std::get<std::int64_t>(scalar));
  }
}

Result<PreparedCondition> prepare_values(MembershipCondition::Mode mode,
                                         const std::vector<MatchScalar>& scalars,
                                         const FieldIndex* index) {
  MembershipCondition condition;
  condition.mode = mode;
  if (index != nullptr) condition.canonical = traits_of(index->kind).canonical;
  for (const auto& scalar : scalars) {
    if (condition.type != ScalarType::kNone && condition.type != type_of(scalar)) {
      return fail(Code::kInvalidArgument,
                  "a match list mixes types; all values must be strings or all integers");
    }
    condition.type = type_of(scalar);
    add_scalar(condition, scalar);
  }
  sort_unique(condition.strings);
  sort_unique(condition.integers);
  return PreparedCondition(std::move(condition));
}

std::vector<std::string> split_at_spaces(std::string_view text) {
  TextOptions options;
  options.tokenizer = Tokenizer::kWhitespace;
  options.lowercase = false;
  return tokenize(text, options);
}

std::vector<Resembling> patterns_of(const std::vector<std::string>& words,
                                    const Similarity& similarity) {
  std::vector<Resembling> patterns;
  if (similarity.is_none()) return patterns;
  for (std::size_t i = 0; i < words.size(); ++i) {
    patterns.emplace_back(words[i], similarity.max_distance,
                          similarity.last_is_prefix && i + 1 == words.size());
  }
  return patterns;
}

Result<PreparedCondition> prepare_text(TextCondition::Mode mode, const std::string& text,
                                       const Similarity& similarity, const FieldIndex* index) {
  TextCondition condition;
  condition.mode = mode;
  condition.tokens = index != nullptr && traits_of(index->kind).decides(Decidable::kTokens);
  if (condition.tokens) {
    condition.analyzers = std::make_shared<const AnalyzerPool>(index->text);
    condition.words = condition.analyzers->tokens(text, TokenUse::kQuery);
    condition.patterns = patterns_of(condition.words, similarity);
    if (mode != TextCondition::Mode::kPhrase) sort_unique(condition.words);
  } else if (!similarity.is_none()) {
    return fail(Code::kInvalidArgument,
                "a text condition with `fuzzy` or `prefix` needs a payload index of type `text`");
  } else {
    condition.words =
        mode == TextCondition::Mode::kAny ? split_at_spaces(text) : std::vector<std::string>{text};
  }
  return PreparedCondition(std::move(condition));
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
Result<PreparedCondition> prepare_geo(const Shape& shape) {
  QV_TRY(check_shape(shape));
  return PreparedCondition(GeoCondition{shape, latitudes(shape)});
}

/// True if the words occur among the tokens. `is(token, word)`: whether one is the other.
template <class Word, class Is>
bool holds_words(const std::vector<std::string>& tokens, const std::vector<Word>& words,
                 TextCondition::Mode mode, Is is) {
  if (mode == TextCondition::Mode::kPhrase) {
    return std::search(tokens.begin(), tokens.end(), words.begin(), words.end(), is) !=
           tokens.end();
  }
  const auto occurs = [&](const Word& word) {
    return std::any_of(tokens.begin(), tokens.end(),
                       [&](const std::string& token) { return is(token, word); });
  };
  return mode == TextCondition::Mode::kAll ? std::all_of(words.begin(), words.end(), occurs)
                                           : std::any_of(words.begin(), words.end(), occurs);
}

bool element_passes(const MembershipCondition& condition, const Value& element) {
  if (condition.mode == MembershipCondition::Mode::kAnyOf) return condition.has(element);
  return !element.is_null() && !condition.has(element);
}
bool element_passes(const TextCondition& condition, const Value& element) {
  const std::string* text = element.as_string();
  return text != nullptr && condition.accepts(*text);
}
bool element_passes(const PrefixCondition& condition, const Value& element) {
  const std::string* text = element.as_string();
  return text != nullptr && text->starts_with(condition.prefix);
}
bool element_passes(const RangeCondition& condition, const Value& element) {
  const auto number = as_number(element);
  return number && in_range(condition.range, *number);
}
bool element_passes(const DatetimeCondition& condition, const Value& element) {
  const std::string* text = element.as_string();
  const auto micros = text == nullptr ? std::nullopt : parse_datetime(*text);
  return micros && condition.micros.contains(*micros);
}
bool element_passes(const GeoCondition& condition, const Value& element) {
  const auto point = as_geo_point(element);
  return point && condition.accepts(*point);
}

template <class Prepared>
bool document_passes(const Prepared& condition, const JsonPath& path, const Value& document) {
  bool found = false;
  for_each_element(document, path, [&](const Value& element) {
    found = found || element_passes(condition, element);
  });
  return found;
}
bool document_passes(const ValuesCount& condition, const JsonPath& path, const Value& document) {
  bool found = false;
  bool is_missing = true;
  for_each_value(document, path, [&](const Value& value) {
    const Array* array = value.as_array();
    const std::uint64_t count = value.is_null() ? 0 : array == nullptr ? 1 : array->size();
    found = found || in_range(condition, count);
    is_missing = false;
  });
  return is_missing ? in_range(condition, 0) : found;
}
bool document_passes(const IsEmpty& condition, const JsonPath& path, const Value& document) {
  bool empty = true;
  for_each_value(document, path, [&](const Value& value) {
    const Array* array = value.as_array();
    empty = empty && (value.is_null() || (array != nullptr && array->empty()));
  });
  return empty == condition.value;
}
bool document_passes(const IsNull& condition, const JsonPath& path, const Value& document) {
  bool null = false;
  const auto visit = [&](const Value& value) { null = null || value.is_null(); };
  condition.in_arrays ? for_each_element(document, path, visit)
                      : for_each_value(document, path, visit);
  return null == condition.value;
}

}  // namespace

bool MembershipCondition::has(const Value& element) const {
  if (const auto* text = element.as_string()) {
    if (strings.empty()) return false;
    return canonical != nullptr
               ? std::binary_search(strings.begin(), strings.end(), canonical(*text))
               : std::binary_search(strings.begin(), strings.end(), *text);
  }
  if (const auto* integer = element.as_i64()) {
    return std::binary_search(integers.begin(), integers.end(), *integer);
  }
  const auto* flag = element.as_bool();
  return flag != nullptr && (*flag ? wants_true : wants_false);
}

bool TextCondition::accepts(std::string_view text) const {
  if (words.empty()) return false;
  if (!tokens) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return text.find(word) != std::string_view::npos;
    });
  }
  const auto found = analyzers->tokens(text, TokenUse::kDocument);
  if (patterns.empty()) return holds_words(found, words, mode, std::equal_to<std::string>());
  return holds_words(found, patterns, mode,
                     [](const std::string& token, const Resembling& pattern) {
                       return pattern.distance_to(token).has_value();
                     });
}

bool GeoCondition::accepts(const GeoPoint& point) const {
  return point.lat >= latitudes.low && point.lat <= latitudes.high &&
         std::visit([&](const auto& area) { return contains(area, point); }, shape);
}

Result<PreparedCondition> prepare(const ValueCondition& condition, const FieldIndex* index) {
  using Mode = MembershipCondition::Mode;
  using Out = Result<PreparedCondition>;
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
            return prepare_text(TextCondition::Mode::kAll, t.text, t.similarity, index);
          },
          [&](const MatchTextAny& t) -> Out {
            return prepare_text(TextCondition::Mode::kAny, t.text, t.similarity, index);
          },
          [&](const MatchPhrase& t) -> Out {
            return prepare_text(TextCondition::Mode::kPhrase, t.text, t.similarity, index);
          },
          [&](const MatchPrefix& t) -> Out { return PreparedCondition(PrefixCondition{t.prefix}); },
          [&](const Range& t) -> Out {
            return PreparedCondition(RangeCondition{t, integers_in(t), doubles_in(t)});
          },
          [&](const DatetimeRange& t) -> Out {
            return PreparedCondition(DatetimeCondition{integers_in(t)});
          },
          [&](const GeoBoundingBox& t) -> Out { return prepare_geo(t); },
          [&](const GeoRadius& t) -> Out { return prepare_geo(t); },
          [&](const GeoPolygon& t) -> Out { return prepare_geo(t); },
          [&](const auto& t) -> Out { return PreparedCondition(t); },
      },
      condition);
}

bool is_existential(const PreparedCondition& condition) {
  return !std::holds_alternative<ValuesCount>(condition) &&
         !std::holds_alternative<IsEmpty>(condition) && !std::holds_alternative<IsNull>(condition);
}

bool passes(const PreparedCondition& condition, const JsonPath& path, const Value& document) {
  return std::visit([&](const auto& t) { return document_passes(t, path, document); }, condition);
}

}  // namespace quiver::payload
