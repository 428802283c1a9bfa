// Facts about the elements of a row that a column keeps beside its values.
#pragma once

#include <cstdint>

namespace quiver::payload {

/// Stands between two strings of a row in a column of tokens. Equal to no term.
inline constexpr std::uint32_t kTermGap = 0xFFFFFFFF;

/// Facts about all elements of a row, of any type.
struct RowFacts {
  enum Flag : std::uint32_t {
    kPresent = 1,     ///< the key leads to at least one value
    kNull = 2,        ///< a value is null or an array with a null in it
    kEmpty = 4,       ///< the key leads to nothing, or only to nulls and empty arrays
    kElement = 8,     ///< at least one element is not null
    kOther = 16,      ///< at least one non-null element has another type than the column
    kManyRoots = 32,  ///< the path leads to several values; `count` is that of the first
    kInexact = 64,    ///< float: at least one integer is not equal to its stored double
    kManyTexts = 128  ///< text: several strings, so `kGap` occurs
  };
  static constexpr std::uint32_t kIrregular = kOther | kManyRoots | kInexact;

  std::uint32_t count = 0;  ///< values: 0 for null or none, the length of an array, else 1
  std::uint32_t flags = kEmpty;

  [[nodiscard]] bool has(std::uint32_t flag) const { return (flags & flag) != 0; }
  bool operator==(const RowFacts&) const = default;
};

}  // namespace quiver::payload
