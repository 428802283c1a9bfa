// Evaluates conditions on attributes with one code for each row, many conditions in one pass.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cells/cells.h"
#include "payload/attribute/attribute.h"
#include "payload/filter/condition.h"
#include "payload/filter/entry_states.h"
#include "payload/filter/row_set.h"

namespace quiver::payload {

/// What the high bytes of codes tell: values that match, and values whose low byte decides.
[[nodiscard]] CellClasses classes_of(const AttributeView& attribute,
                                     const std::vector<EntryState>& states);

/// Borrows the attribute.
class CodeCondition {
 public:
  static constexpr std::uint32_t kWordsPerBlock = kRowsPerCellRange / 64;
  using Words = std::array<std::uint64_t, kWordsPerBlock>;
  /// Of `kRowsPerCellRange` rows: those that surely match, and those that may. `yes` is a part of
  /// `possible`.
  struct Block {
    Words yes{}, possible{};
  };

  /// nullopt if rows have lists of codes, or the condition depends on a declared index.
  [[nodiscard]] static std::optional<CodeCondition> make(const AttributeView& attribute,
                                                         const PreparedCondition& condition);
  /// Rows that codes leave open.
  [[nodiscard]] std::uint64_t n_open() const { return n_open_; }
  /// True if codes decide every row.
  [[nodiscard]] bool is_exact() const { return n_open_ == 0; }
  void negate() { entries_.is_negated = !entries_.is_negated; }
  /// Takes the rows from `block` that do not match. Its first row is a multiple of
  /// `kRowsPerCellRange`. Returns false if none is left.
  bool narrow(std::uint32_t first_row, Block& block) const;
  /// What the code of one row tells.
  [[nodiscard]] EntryState of_row(std::size_t row) const {
    const EntryState state = entries_.states[attribute_->entry_at(row)];
    if (!entries_.is_negated || state == EntryState::kMaybe) return state;
    return state == EntryState::kYes ? EntryState::kNo : EntryState::kYes;
  }

 private:
  CodeCondition(const AttributeView& attribute, EntryStates entries);
  /// Decides the rows of `wanted` whose high byte leaves it open. Leaves in `open` those that only
  /// documents decide, and adds to `yes` those that match.
  void decide(std::uint32_t first_row, const Words& wanted, Words& yes, Words& open) const;
  /// Writes the rows that match, and those that only documents decide.
  void match(std::uint32_t first_row, const Words& wanted, Words& yes, Words& open) const;

  [[nodiscard]] bool is_interval() const { return yes_ != possible_ || yes_.low <= yes_.high; }

  const AttributeView* attribute_;
  EntryStates entries_;
  CellClasses classes_;
  std::uint64_t n_open_ = 0;
  /// Codes of 16 bits that match, and those that may, if each are neighbours; else none.
  CodeInterval yes_, possible_;
};

/// The rows of `within`, a set of at most as many rows as the attributes have, that match all
/// conditions. Blocks of rows stay in the processor's cache from condition to condition.
[[nodiscard]] Verdict match_codes(std::span<const CodeCondition> conditions, const RowSet& within);

}  // namespace quiver::payload
