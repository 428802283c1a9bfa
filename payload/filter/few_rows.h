// Finds the few rows that can match a filter, from postings and sorted values, so that the filter
// need not be evaluated on all rows of a segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "payload/filter/filter_tree.h"
#include "payload/filter/rows_view.h"

namespace quiver::payload {

struct FewRows {
  std::vector<std::uint32_t> rows;  ///< ascending; among them are all that match
  bool is_exact = false;            ///< all of them match
};

/// At most `most` rows. nullopt unless sealed columns or ids show that there are so few.
[[nodiscard]] std::optional<FewRows> few_rows(const FilterTree& tree, const RowsView& rows,
                                              std::size_t most);

/// The only row that may have this id, of rows whose ids ascend or whose order is known; their
/// number if none may.
[[nodiscard]] std::size_t row_of_id(const RowsView& rows, const PointId& id);

}  // namespace quiver::payload
