// What a segment knows about the values under one payload path without a declared index.
//
// The values under a path are divided into *entries*: special ones (missing, null, false, ...),
// then the integers, the numbers with a fraction and the strings, each ascending. An entry is one
// value, or, where a path has too many, a range of neighbouring values. Each row has the code of
// its entry, or, for arrays, a list of codes. So a condition is decided once per entry, and rows
// follow by their codes. Documents decide only rows whose entry is a range that matches in part.
// These are the quantized attributes of SQUASH (arXiv 2502.01528, "attribute Q-index"), for all
// types of scalars.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/shared_span.h"
#include "payload/json/path.h"

namespace quiver::payload {

/// Entries that every path has, in this order.
enum class SpecialEntry : std::uint8_t {
  kMissing,      ///< the path leads to nothing
  kNull,         ///< it leads to null
  kEmptyArray,   ///< it leads to `[]`
  kManyRoots,    ///< stands before the codes of a row whose path leads to several values
  kNullElement,  ///< a null within an array
  kFalse,
  kTrue,
  kNested,        ///< an object, or an array within an array
  kLargeInteger,  ///< an integer above the range of i64
};
inline constexpr std::uint32_t kSpecialEntries = 9;
inline constexpr std::uint32_t kMaxEntries = 65'536;

/// Strings of this many bytes or more are kept as their first bytes, which many may share.
inline constexpr std::size_t kMaxTextBytes = 64;

/// The least and the greatest cell of some rows.
struct CellRange {
  std::uint8_t low = 255;
  std::uint8_t high = 0;
  bool operator==(const CellRange&) const = default;
};
/// Objects of a row, below one path through arrays, that attributes tell apart.
inline constexpr std::uint32_t kMaxObjects = 64;

/// Rows of a `CellRange`.
inline constexpr std::uint32_t kRowsPerCellRange = 1024;

/// The attribute of one path. Immutable; cheap to copy; any thread may read.
struct AttributeView {
  std::string path;  ///< canonical spelling
  std::uint32_t n_rows = 0;

  /// The codes of all rows, one after the other. A code is 8 bits, or 16 if `rests` is not empty:
  /// `cells` has the high byte, `rests` the low one. Entry `e` has the code `e << shift`.
  SharedSpan<std::uint8_t> cells;
  SharedSpan<std::uint8_t> rests;
  std::uint32_t shift = 0;
  SharedSpan<std::uint32_t> offsets;  ///< [n_rows + 1] into the codes; empty: one a row
  SharedSpan<CellRange> ranges;       ///< one per `kRowsPerCellRange` rows; empty with `offsets`
  SharedSpan<std::uint32_t> counts;   ///< [n_entries], codes of each entry
  /// For a path through an array of objects: the number of the object that each code comes from,
  /// among all objects that the path enters last in the row. Numbers above `kMaxObjects` are
  /// `kMaxObjects`. Empty if the codes of each row come from objects 0, 1, 2, …
  SharedSpan<std::uint8_t> objects;

  // The entries after the special ones: least and greatest value of each. `highs` is empty if all
  // entries of the type are single values.
  SharedSpan<std::int64_t> integer_lows, integer_highs;
  SharedSpan<double> double_lows, double_highs;
  SharedSpan<std::uint64_t> text_offsets;  ///< [n_texts * (1 or 2) + 1]: all lows, then all highs
  SharedSpan<char> text_bytes;
  bool has_text_highs = false;
  /// Moments of the strings of each entry, microseconds, [n_texts] each; empty if no string is one.
  /// `low > high`: no string of the entry is a moment. The whole range: some may be none.
  SharedSpan<std::int64_t> moment_lows, moment_highs;

  [[nodiscard]] std::uint32_t n_texts() const;
  [[nodiscard]] std::uint32_t n_entries() const;
  /// Above every number that `entry_at` may return, also of damaged codes; `n_entries()` or more.
  [[nodiscard]] std::uint32_t entry_bound() const {
    return (rests.empty() ? 256U : kMaxEntries) >> shift;
  }
  /// The codes of a row: places `[first, last)`, all of them there. If rows have lists of codes.
  struct Places {
    std::uint32_t first = 0, last = 0;
  };
  [[nodiscard]] Places places_of(std::size_t row) const {
    const auto n_codes = static_cast<std::uint32_t>(cells.size());
    const std::uint32_t first = std::min(offsets[row], n_codes);
    return {first, std::max(first, std::min(offsets[row + 1], n_codes))};
  }
  [[nodiscard]] std::uint32_t first_double() const;
  [[nodiscard]] std::uint32_t first_text() const;
  [[nodiscard]] std::string_view text_low(std::uint32_t text) const;
  [[nodiscard]] std::string_view text_high(std::uint32_t text) const;
  /// True if entry `text` stands for one string, known in full.
  [[nodiscard]] bool is_exact_text(std::uint32_t text) const;
  /// True if no entry is a range.
  [[nodiscard]] bool has_single_values() const {
    return integer_highs.empty() && double_highs.empty() && !has_text_highs;
  }
  [[nodiscard]] std::uint32_t entry_at(std::size_t position) const {
    std::uint32_t code = cells[position];
    if (!rests.empty()) code = code << 8 | rests[position];
    return code >> shift;
  }
  [[nodiscard]] std::uint64_t n_bytes() const;
};

/// The spelling under which attributes keep a path; empty if they never keep such a path. They have
/// paths of plain keys, through arrays of objects.
[[nodiscard]] std::string attribute_path(const JsonPath& path);

/// The path of the attribute that counts the objects of an array: that of the array and `[]`. A row
/// has the number of its objects, `kMaxObjects + 1` if there are more, and no value if there are
/// none. Empty if attributes never count them. `elements` ends in `[]`.
[[nodiscard]] std::string objects_path(const JsonPath& elements);

/// A path whose values are not kept, and why.
struct LeftOutPath {
  std::string path;
  std::string reason;
};
/// Reason of a path that has keys below it which were not looked at.
inline constexpr std::string_view kMoreBelow = "there is more below it";
/// A set names at most so many left out paths.
inline constexpr std::size_t kMaxLeftOutPaths = 64;

/// All attributes of a segment, by path, ascending.
struct AttributeSet {
  std::vector<AttributeView> attributes;
  std::vector<LeftOutPath> left_out;
  /// False in files of revision 1: objects are not counted, and `AttributeView::objects` is
  /// missing.
  bool has_objects = true;

  /// nullptr if the path is not kept.
  [[nodiscard]] const AttributeView* find(std::string_view path) const;
  /// True if this path leads to nothing in all rows, or this array has no objects (`a[]`).
  [[nodiscard]] bool leads_nowhere(std::string_view path) const;
  [[nodiscard]] std::uint64_t n_bytes() const;
};

}  // namespace quiver::payload
