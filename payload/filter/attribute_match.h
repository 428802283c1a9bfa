// Evaluates one condition on the attribute of a path that has no declared index.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "payload/attribute/attribute.h"
#include "payload/filter/column_match.h"
#include "payload/filter/condition.h"
#include "payload/filter/rows_view.h"

namespace quiver::payload {

/// Evaluates `condition` on the rows of `within`, a set of at most `attribute.n_rows` rows.
/// nullopt if the condition depends on a declared index.
[[nodiscard]] std::optional<Verdict> match_attribute(const AttributeView& attribute,
                                                     const PreparedCondition& condition,
                                                     const RowSet& within);

/// The same over parts of the rows. Rows that no part decides may match.
[[nodiscard]] Verdict match_attributes(std::span<const AttributePart> parts,
                                       const PreparedCondition& condition, const RowSet& within);

/// Estimates how many of `n_rows` rows match, without reading rows.
[[nodiscard]] Estimate estimate_attributes(std::span<const AttributePart> parts,
                                           const PreparedCondition& condition,
                                           std::uint64_t n_rows);

}  // namespace quiver::payload
