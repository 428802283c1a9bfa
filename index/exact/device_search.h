// Exact search with the help of a device: it names rows, or documents of tokens, among which the
// best are, and these are scored here, as always. So hits and their scores are those of a search
// without it.
#pragma once

#include <vector>

#include "gpu/devices.h"
#include "index/index.h"

namespace quiver::index {

/// Queries that are searched for together, and their heaps.
struct Batch {
  std::vector<const PreparedQuery*> queries;
  std::vector<TopK*> results;

  void add(const PreparedQuery* query, TopK* out) {
    queries.push_back(query);
    results.push_back(out);
  }
};

/// True if a device may help with rows of this field.
[[nodiscard]] bool has_device_form(const FieldSchema& schema);

/// Offers the hits of the queries that a device of `context` answers, and returns the others.
/// `slot` belongs to the rows of `column`.
[[nodiscard]] Result<Batch> search_on_device(Batch batch, const FieldColumn& column,
                                             gpu::Slot& slot, const RowFilter& filter,
                                             const SearchContext& context, WorkCounters& work);

}  // namespace quiver::index
