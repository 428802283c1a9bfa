// Evaluates conditions on attributes with one code for each row, many conditions in one pass.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bitset.h"
#include "kernels/cells/cells.h"
#include "payload/attribute/attribute.h"
#include "payload/filter/condition.h"
#include "payload/filter/entry_states.h"

namespace quiver::payload {

/// Rows that surely match, and rows that may: `yes` is a part of `possible`.
struct MatchBounds {
  Bitset yes;
  Bitset possible;
};

/// What the high bytes of codes tell: values that match, and values whose low byte decides.
[[nodiscard]] CellClasses classes_of(const AttributeView& attribute,
                                     const std::vector<EntryState>& states);

/// Borrows the attribute.
class CodeCondition {
 public:
  static constexpr std::uint32_t kWordsPerBlock = kRowsPerCellRange / 64;
  using Words = std::array<std::uint64_t, kWordsPerBlock>;
  /// `MatchBounds` of `kRowsPerCellRange` rows.
  struct Block {
    Words yes{}, possible{};
  };

  /// nullopt if rows have lists of codes, or the condition depends on a declared index.
  [[nodiscard]] static std::optional<CodeCondition> make(const AttributeView& attribute,
                                                         const PreparedCondition& condition);
  /// True if codes decide every row.
  [[nodiscard]] bool is_exact() const;
  void negate() { entries_.is_negated = !entries_.is_negated; }
  /// Takes the rows from `block` that do not match. Its first row is a multiple of
  /// `kRowsPerCellRange`. Returns false if none is left.
  bool narrow(std::uint32_t first_row, Block& block) const;

 private:
  CodeCondition(const AttributeView& attribute, EntryStates entries);
  /// Decides the rows of `wanted` whose high byte leaves it open. Leaves in `open` those that only
  /// documents decide, and adds to `yes` those that match.
  void decide(std::uint32_t first_row, const Words& wanted, Words& yes, Words& open) const;

  const AttributeView* attribute_;
  EntryStates entries_;
  CellClasses classes_;
};

/// The rows of `within`, which has at most as many bits as the attributes have rows, that match all
/// conditions. Blocks of rows stay in the processor's cache from condition to condition.
[[nodiscard]] MatchBounds match_codes(std::span<const CodeCondition> conditions,
                                      const Bitset& within);

}  // namespace quiver::payload
