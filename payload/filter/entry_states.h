// Which entries of an attribute satisfy a condition.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "payload/attribute/attribute.h"
#include "payload/filter/condition.h"

namespace quiver::payload {

/// Whether the values of an entry satisfy a condition: none, all, or only documents can tell.
enum class EntryState : std::uint8_t { kNo, kYes, kMaybe };

struct EntryStates {
  std::vector<EntryState> states;  ///< [AttributeView::entry_bound]
  /// The states say which rows do *not* match: for conditions that no element may satisfy.
  bool is_negated = false;
  /// Rows whose path leads to several values need their document, whatever their other codes.
  bool needs_one_root = false;
};

/// nullopt if the condition depends on a declared index, or counts values.
[[nodiscard]] std::optional<EntryStates> entry_states(const AttributeView& attribute,
                                                      const PreparedCondition& condition);

/// For rows with one code each: the same, also for conditions on the number of values.
[[nodiscard]] std::optional<EntryStates> code_states(const AttributeView& attribute,
                                                     const PreparedCondition& condition);

/// How many values the element of an entry is: 0 or 1.
[[nodiscard]] std::uint64_t n_values_of(std::uint32_t entry);

}  // namespace quiver::payload
