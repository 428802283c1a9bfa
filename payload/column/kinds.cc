#include "payload/column/kinds.h"

#include "base/ids.h"
#include "payload/column/growing_values.h"
#include "payload/column/row_facts.h"
#include "payload/json/document.h"
#include "payload/scalar/datetime.h"
#include "payload/scalar/geo.h"
#include "payload/scalar/number.h"
#include "payload/text/analyzer.h"

namespace quiver::payload {
namespace {

bool keep_string(const Value& element, const FieldIndex&, RowFacts&, GrowingValues& values) {
  const std::string* text = element.as_string();
  if (text == nullptr) return false;
  values.terms.append(values.dictionary.find_or_add(*text));
  return true;
}

/// Lower case, with hyphens. Strings that are no UUID stay as they are.
std::string canonical_uuid(const std::string& text) {
  const auto uuid = PointId::parse_uuid(text);
  return uuid ? uuid->to_string() : text;
}
bool keep_uuid(const Value& element, const FieldIndex&, RowFacts&, GrowingValues& values) {
  const std::string* text = element.as_string();
  if (text == nullptr) return false;
  values.terms.append(values.dictionary.find_or_add(canonical_uuid(*text)));
  return true;
}

bool keep_tokens(const Value& element, const FieldIndex& index, RowFacts& row,
                 GrowingValues& values) {
  const std::string* text = element.as_string();
  if (text == nullptr) return false;
  if (values.n_texts++ != 0) {
    row.flags |= RowFacts::kManyTexts;
    values.terms.append(kTermGap);
  }
  if (values.analyzer == nullptr) values.analyzer = std::make_unique<Analyzer>(index.text);
  values.text_terms.clear();
  values.analyzer->append_numbers(
      *text, values.word_terms,
      [&](std::string_view token) { return values.dictionary.find_or_add(token); },
      values.text_terms);
  values.terms.append(std::span<const std::uint32_t>(values.text_terms));
  return true;
}

bool keep_bool(const Value& element, const FieldIndex&, RowFacts&, GrowingValues& values) {
  const bool* flag = element.as_bool();
  if (flag == nullptr) return false;
  values.terms.append(*flag ? 1U : 0U);
  return true;
}

/// Integers that fit i64.
bool keep_integer(const Value& element, const FieldIndex&, RowFacts&, GrowingValues& values) {
  const std::int64_t* integer = element.as_i64();
  if (integer == nullptr) return false;
  values.integers.append(*integer);
  return true;
}

/// Every number, as the nearest double.
bool keep_double(const Value& element, const FieldIndex&, RowFacts& row, GrowingValues& values) {
  const auto number = as_number(element);
  if (!number) return false;
  const auto nearest = nearest_double(*number);
  if (!nearest.exact) row.flags |= RowFacts::kInexact;
  values.doubles.append(nearest.value);
  return true;
}

/// Strings that are a point in time, in microseconds.
bool keep_datetime(const Value& element, const FieldIndex&, RowFacts&, GrowingValues& values) {
  const std::string* text = element.as_string();
  if (text == nullptr) return false;
  const auto micros = parse_datetime(*text);
  if (!micros) return false;
  values.integers.append(*micros);
  return true;
}

/// Objects with numeric `lon` and `lat`.
bool keep_point(const Value& element, const FieldIndex&, RowFacts&, GrowingValues& values) {
  const auto point = as_geo_point(element);
  if (!point) return false;
  values.points.append(*point);
  return true;
}

constexpr std::array<IndexTraits, kIndexKindNames.size()> kTraits = {{
    {.kind = IndexKind::kKeyword,
     .element = ElementType::kString,
     .storage = ValueStorage::kTerms,
     .keep = keep_string,
     .decidable = Decidable::kEquality | Decidable::kStringParts},
    {.kind = IndexKind::kInteger,
     .element = ElementType::kInteger,
     .storage = ValueStorage::kIntegers,
     .keep = keep_integer,
     .decidable = Decidable::kEquality | Decidable::kRange,
     .ordering = Ordering::kWithRange},
    {.kind = IndexKind::kFloat,
     .element = ElementType::kNumber,
     .storage = ValueStorage::kDoubles,
     .keep = keep_double,
     .decidable = Decidable::kRange,
     .ordering = Ordering::kAlways},
    {.kind = IndexKind::kBool,
     .element = ElementType::kBool,
     .storage = ValueStorage::kTerms,
     .keep = keep_bool,
     .decidable = Decidable::kEquality,
     .n_fixed_terms = 2},
    {.kind = IndexKind::kGeo,
     .element = ElementType::kObject,
     .storage = ValueStorage::kPoints,
     .keep = keep_point,
     .decidable = Decidable::kGeo},
    {.kind = IndexKind::kDatetime,
     .element = ElementType::kString,
     .storage = ValueStorage::kIntegers,
     .keep = keep_datetime,
     .decidable = Decidable::kDatetimeRange,
     .ordering = Ordering::kAlways},
    {.kind = IndexKind::kUuid,
     .element = ElementType::kString,
     .storage = ValueStorage::kTerms,
     .keep = keep_uuid,
     .decidable = Decidable::kEquality,
     .canonical = canonical_uuid},
    {.kind = IndexKind::kText,
     .element = ElementType::kString,
     .storage = ValueStorage::kTerms,
     .keep = keep_tokens,
     .decidable = Decidable::kTokens},
}};

constexpr bool is_complete() {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (static_cast<std::size_t>(kTraits[i].kind) != i || kTraits[i].keep == nullptr) return false;
  }
  return true;
}
static_assert(is_complete(), "a row for each IndexKind, in its order");

}  // namespace

constinit const std::array<IndexTraits, kIndexKindNames.size()> kIndexTraits = kTraits;

}  // namespace quiver::payload
