// How each type of payload index stores values, and which conditions the stored values decide.
//
// A new type needs its number and name in payload/schema.h and its row in kinds.cc. Columns, files,
// filters and `order_by` read the row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "payload/schema.h"

namespace quiver::payload {

class Value;
struct GrowingValues;
struct RowFacts;

/// JSON type of the elements that a column stores as values.
enum class ElementType : std::uint8_t { kString, kInteger, kNumber, kBool, kObject };

/// The array of a column that holds its values; see `ColumnView`.
enum class ValueStorage : std::uint8_t { kTerms, kIntegers, kDoubles, kPoints };

/// Conditions that the stored values decide, as bits.
enum class Decidable : std::uint32_t {
  kEquality = 1,        ///< `match` with value, any or except; values of type `element`
  kStringParts = 2,     ///< substrings and prefixes: terms are the strings, unchanged
  kTokens = 4,          ///< text conditions: terms are tokens in order, `kTermGap` between strings
  kRange = 8,           ///< ranges of numbers
  kDatetimeRange = 16,  ///< ranges of microseconds
  kGeo = 32,            ///< geo areas
};
constexpr Decidable operator|(Decidable a, Decidable b) {
  return static_cast<Decidable>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

/// Whether points can be ordered by the values. kWithRange: unless `FieldIndex::range` is false.
enum class Ordering : std::uint8_t { kNone, kAlways, kWithRange };

struct IndexTraits {
  IndexKind kind;
  ElementType element;
  ValueStorage storage;
  /// Appends an element to the values and updates the facts of its row. Returns false, without a
  /// change, if the element is not of this type.
  bool (*keep)(const Value& element, const FieldIndex& index, RowFacts& row, GrowingValues& values);
  Decidable decidable;
  Ordering ordering = Ordering::kNone;
  /// kTerms: the terms are 0 .. n_fixed_terms - 1, without a dictionary. 0: they are texts.
  std::uint32_t n_fixed_terms = 0;
  /// The form in which strings are stored and compared; nullptr: unchanged.
  std::string (*canonical)(const std::string& text) = nullptr;

  [[nodiscard]] constexpr bool decides(Decidable condition) const {
    return (static_cast<std::uint32_t>(decidable) & static_cast<std::uint32_t>(condition)) != 0;
  }
  [[nodiscard]] constexpr bool has_dictionary() const {
    return storage == ValueStorage::kTerms && n_fixed_terms == 0;
  }
};

/// One row for each IndexKind, in its order.
extern const std::array<IndexTraits, kIndexKindNames.size()> kIndexTraits;

[[nodiscard]] inline const IndexTraits& traits_of(IndexKind kind) {
  return kIndexTraits[static_cast<std::size_t>(kind)];
}

}  // namespace quiver::payload
