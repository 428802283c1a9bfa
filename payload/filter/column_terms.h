// Finds the terms and values of a column that a condition refers to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "payload/column/column.h"
#include "payload/filter/condition.h"

namespace quiver::payload {

/// True if the column stores every element of `type`, unchanged.
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

/// Terms of those `texts` (ascending) that are in the dictionary.
[[nodiscard]] std::vector<std::uint32_t> find_terms(const ColumnView& column,
                                                    std::span<const std::string> texts);
/// Terms of the strings or bools that `condition` lists.
[[nodiscard]] std::vector<std::uint32_t> wanted_terms(const ColumnView& column,
                                                      const MembershipCondition& condition);
/// Terms whose text `condition` accepts. O(n_terms).
[[nodiscard]] std::vector<std::uint32_t> accepted_terms(const ColumnView& column,
                                                        const TextCondition& condition);
/// Terms that begin with `prefix`, ascending. O(n_terms) in a growing column.
[[nodiscard]] std::vector<std::uint32_t> prefixed_terms(const ColumnView& column,
                                                        std::string_view prefix);

/// Terms that may stand for the word, ascending. O(n_terms) in a growing column.
[[nodiscard]] std::vector<std::uint32_t> resembling_terms(const ColumnView& column,
                                                          const Resembling& word);

/// A set of terms below `n_terms`; larger values (gaps) are never members.
class TermSet {
 public:
  TermSet(std::span<const std::uint32_t> ids, std::uint32_t n_terms) : member_(n_terms, 0) {
    for (const std::uint32_t id : ids) member_[id] = 1;
  }
  bool operator()(std::uint32_t id) const { return id < member_.size() && member_[id] != 0; }

 private:
  std::vector<std::uint8_t> member_;
};

/// True if one string of a row, given as tokens with gaps, has all `ids` (kAll) or has them in
/// sequence (kPhrase).
[[nodiscard]] bool row_has_tokens(std::span<const std::uint32_t> tokens, TextCondition::Mode mode,
                                  std::span<const std::uint32_t> ids);
/// The same for words of which each may be one of several terms.
[[nodiscard]] bool row_has_tokens(std::span<const std::uint32_t> tokens, TextCondition::Mode mode,
                                  std::span<const TermSet> words);

}  // namespace quiver::payload
