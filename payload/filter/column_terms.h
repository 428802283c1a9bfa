// Where in a column the values lie that a test is about.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "payload/column/column.h"
#include "payload/filter/field_test.h"

namespace quiver::payload {

/// Whether the column's values are all the elements of `type`, each as itself.
[[nodiscard]] bool holds(IndexKind kind, ScalarType type);

/// A range of the sorted values: [first, last) of `sorted_rows`.
struct SortedRange {
  std::size_t first = 0, last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};

template <class T>
SortedRange find_sorted(std::span<const T> sorted, T low, T high) {
  if (low > high) return {};
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), low);
  const auto last = std::upper_bound(first, sorted.end(), high);
  return {static_cast<std::size_t>(first - sorted.begin()),
          static_cast<std::size_t>(last - sorted.begin())};
}

/// The ids of those `texts` (ascending) that the dictionary has.
[[nodiscard]] std::vector<std::uint32_t> find_terms(const ColumnView& column,
                                                    std::span<const std::string> texts);
/// The ids of the strings or bools that `test` lists.
[[nodiscard]] std::vector<std::uint32_t> wanted_terms(const ColumnView& column,
                                                      const ValueTest& test);
/// The ids of the terms whose text `test` accepts. O(n_terms).
[[nodiscard]] std::vector<std::uint32_t> accepted_terms(const ColumnView& column,
                                                        const TextTest& test);
/// The ids of the terms that begin with `prefix`, ascending. O(n_terms) in a column that grows.
[[nodiscard]] std::vector<std::uint32_t> prefixed_terms(const ColumnView& column,
                                                        std::string_view prefix);

/// Whether one of the strings of a row, given as tokens with gaps, has all `ids` (kAll) or has them
/// in sequence (kPhrase).
[[nodiscard]] bool row_has_tokens(std::span<const std::uint32_t> tokens, TextTest::Mode mode,
                                  std::span<const std::uint32_t> ids);

/// Membership of ids below `n_terms`; others (gaps) are no members.
class TermSet {
 public:
  TermSet(std::span<const std::uint32_t> ids, std::uint32_t n_terms) : member_(n_terms, 0) {
    for (const std::uint32_t id : ids) member_[id] = 1;
  }
  bool operator()(std::uint32_t id) const { return id < member_.size() && member_[id] != 0; }

 private:
  std::vector<std::uint8_t> member_;
};

}  // namespace quiver::payload
