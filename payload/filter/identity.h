// What makes two filters the same: a text of one filter, and the indexes that change its meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "payload/filter.h"
#include "payload/schema.h"

namespace quiver::payload {

/// Filters with equal identities match the same rows of any segment.
struct FilterIdentity {
  /// Longer texts are not made: comparing them would take as long as evaluating many a filter.
  static constexpr std::size_t kMaxBytes = 4096;

  std::uint64_t hash = 0;           ///< of the text; first, so that most comparisons end here
  std::string text;                 ///< no text is the beginning of another
  std::vector<FieldIndex> indexes;  ///< of text and UUIDs, under which conditions compare otherwise

  bool operator==(const FilterIdentity&) const = default;
};

/// nullopt if the text would be too long.
[[nodiscard]] std::optional<FilterIdentity> identity_of(const Filter& filter,
                                                        std::span<const FieldIndex> indexes);

}  // namespace quiver::payload
