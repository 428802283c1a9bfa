#include "tests/payload/random_payload.h"

#include <array>
#include <limits>
#include <memory>

namespace quiver::payload {
namespace {

constexpr std::array kWords{"red",
                            "green",
                            "Blue",
                            "deep",
                            "sea",
                            "\xC3\x9C"
                            "ber"};
constexpr std::array kKeys{"a", "b", "c", "o.a", "o.b", "r[].a", "r[].b", "a[]", "r[0].a", "o"};
constexpr std::array kIntegers{std::int64_t{0},
                               std::int64_t{1},
                               std::int64_t{2},
                               std::int64_t{-7},
                               std::int64_t{9007199254740992},
                               std::int64_t{9007199254740993},
                               std::numeric_limits<std::int64_t>::max()};

}  // namespace

std::string RandomPayload::word() { return kWords[static_cast<std::size_t>(below(kWords.size()))]; }

std::string RandomPayload::text() {
  std::string out = word();
  for (int i = below(4); i > 0; --i) out += (chance(0.8) ? " " : ", ") + word();
  return out;
}

std::string RandomPayload::datetime() {
  const std::array forms{"2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01 12:30", "2024-02-30",
                         "2024-06-01T10:00:00.5+02:00"};
  return forms[static_cast<std::size_t>(below(forms.size()))];
}

std::string RandomPayload::uuid() {
  return chance(0.5) ? "5c56c793-69f3-4fbf-87e6-c4bf54c28c26" : "5C56C79369F34FBF87E6C4BF54C28C26";
}

std::string RandomPayload::some_string() {
  switch (below(4)) {
    case 0:
      return datetime();
    case 1:
      return uuid();
    case 2:
      return text();
    default:
      return word();
  }
}

std::int64_t RandomPayload::integer() {
  return kIntegers[static_cast<std::size_t>(below(kIntegers.size()))];
}

Number RandomPayload::number() {
  if (chance(0.5)) return integer();
  if (chance(0.1)) return std::numeric_limits<std::uint64_t>::max();
  return chance(0.3) ? 9007199254740992.0 : below(5) / 2.0 - 0.5;
}

GeoPoint RandomPayload::point() {
  return {static_cast<double>(below(9) - 4) * 45, static_cast<double>(below(7) - 3) * 29.5};
}

Value RandomPayload::scalar() {
  switch (below(8)) {
    case 0:
      return Value();
    case 1:
      return Value(chance(0.5));
    case 2:
      return Value(integer());
    case 3:
      return std::visit([](auto n) { return Value(n); }, number());
    case 4: {
      const GeoPoint p = point();
      return Value(Object{{"lon", Value(p.lon)}, {"lat", Value(p.lat)}});
    }
    default:
      return Value(some_string());
  }
}

Value RandomPayload::value() {
  if (chance(0.7)) return scalar();
  Array array;
  for (int i = below(4); i > 0; --i) {
    array.push_back(chance(0.05) ? Value(Array{scalar()}) : scalar());
  }
  return Value(std::move(array));
}

Value RandomPayload::object(int depth) {
  Object out;
  for (const char* name : {"a", "b", "c"}) {
    if (chance(0.7)) out.push_back({name, value()});
  }
  if (depth == 0) return Value(std::move(out));
  if (chance(0.6)) out.push_back({"o", chance(0.8) ? object(0) : scalar()});
  if (chance(0.6)) {
    Array array;
    for (int i = below(4); i > 0; --i) array.push_back(chance(0.8) ? object(0) : scalar());
    out.push_back({"r", Value(std::move(array))});
  }
  return Value(std::move(out));
}

Value RandomPayload::document() { return object(1); }

std::string RandomPayload::key() { return kKeys[static_cast<std::size_t>(below(kKeys.size()))]; }

std::vector<MatchScalar> RandomPayload::scalars() {
  std::vector<MatchScalar> out;
  const int type = below(3);
  for (int i = below(7); i > 0; --i) {
    if (type == 0) out.emplace_back(integer());
    if (type == 1) out.emplace_back(some_string());
    if (type == 2) out.emplace_back(chance(0.5));
  }
  return out;
}

ValueCondition RandomPayload::condition() {
  const auto maybe = [&](auto value) { return chance(0.5) ? std::optional(value) : std::nullopt; };
  switch (below(15)) {
    case 0:
      if (chance(0.3)) return MatchValue{integer()};
      if (chance(0.3)) return MatchValue{chance(0.5)};
      return MatchValue{some_string()};
    case 1:
      return MatchAny{scalars()};
    case 2:
      return MatchExcept{scalars()};
    case 3:
      return MatchText{text()};
    case 4:
      return MatchTextAny{text()};
    case 5:
      return MatchPhrase{chance(0.2) ? std::string() : word() + " " + word()};
    case 6:
    case 7:
      return Range{maybe(number()), maybe(number()), maybe(number()), maybe(number())};
    case 8:
      return DatetimeRange{maybe(std::int64_t{1704067200000000}), std::nullopt, std::nullopt,
                           maybe(std::int64_t{1717228800500000})};
    case 9: {
      GeoPoint a = point();
      GeoPoint b = point();
      if (chance(0.5)) return GeoRadius{a, 1e6 * below(12)};
      if (chance(0.5)) return GeoBoundingBox{a, b};
      return GeoPolygon{{{-50, -40}, {100, -40}, {100, 60}, {-50, 60}, {-50, -40}},
                        {{{-10, -10}, {10, -10}, {10, 10}, {-10, -10}}}};
    }
    case 10:
      return ValuesCount{std::nullopt, maybe(std::uint64_t{1}), maybe(std::uint64_t{3}),
                         maybe(std::uint64_t{2})};
    case 11:
      return IsEmpty{chance(0.7)};
    case 12:
      return IsNull{chance(0.7), chance(0.5)};
    case 13: {
      const std::string whole = some_string();
      return MatchPrefix{whole.substr(0, static_cast<std::size_t>(below(4)))};
    }
    default:
      return MatchValue{some_string()};
  }
}

Condition RandomPayload::condition(int depth) {
  const int kind = below(depth > 0 ? 12 : 9);
  if (kind < 7) return FieldCondition{key(), condition()};
  if (kind == 7) {
    HasId ids;
    for (int i = below(40); i > 0; --i) {
      ids.ids.push_back(PointId::number(static_cast<std::uint64_t>(below(400))));
    }
    return ids;
  }
  if (kind == 8) return HasVector{chance(0.5) ? "v" : "w"};
  auto inner = std::make_shared<const Filter>(filter(depth - 1));
  if (kind == 9) return inner;
  return Nested{chance(0.5) ? "r" : "r[]", inner};
}

std::vector<Condition> RandomPayload::conditions(int depth, double p) {
  std::vector<Condition> out;
  while (chance(p)) out.push_back(condition(depth));
  return out;
}

Filter RandomPayload::filter(int depth) {
  Filter out;
  out.must = conditions(depth, 0.5);
  out.should = conditions(depth, 0.4);
  out.must_not = conditions(depth, 0.3);
  if (chance(0.2)) {
    out.min_should = MinShould{conditions(depth, 0.7), static_cast<std::uint64_t>(below(4))};
  }
  return out;
}

FieldIndex RandomPayload::index() {
  FieldIndex out;
  out.key = key();
  out.kind = static_cast<IndexKind>(below(static_cast<int>(kIndexKindNames.size())));
  out.text.lowercase = chance(0.7);
  out.text.tokenizer =
      chance(0.5) ? Tokenizer::kWord
                  : static_cast<Tokenizer>(below(static_cast<int>(kTokenizerNames.size())));
  out.text.ascii_folding = chance(0.3);
  if (chance(0.3)) out.text.stemmer = StemmerLanguage::kEnglish;
  if (chance(0.3)) out.text.stopwords.custom = {"a", "x"};
  return out;
}

}  // namespace quiver::payload
