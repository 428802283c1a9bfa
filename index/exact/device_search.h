// Exact search with the help of a device: it names rows, or documents of tokens, among which the
// best are, and these are scored here, as always. So hits and their scores are those of a search
// without it.
#pragma once

#include <vector>

#include "gpu/devices.h"
#include "index/index.h"

namespace quiver::index {

/// True if a device may help with rows of this field.
[[nodiscard]] bool has_device_form(const FieldSchema& schema);

/// Puts `placing` in force for the rows, of which there are some. False: not yet.
bool place_on_device(const FieldColumn& column, gpu::Slot& slot, gpu::Devices& devices,
                     gpu::Placing placing);
/// Has them copied in the background.
void want_on_device(const FieldColumn& column, gpu::Slot& slot, gpu::Devices& devices);

/// Offers the hits of the queries that a device of `context` answers, and returns the others.
/// `slot` belongs to the rows of `column`.
[[nodiscard]] Result<std::vector<FilteredQuery>> search_on_device(
    std::vector<FilteredQuery> queries, const FieldColumn& column, gpu::Slot& slot,
    const SearchContext& context, WorkCounters& work);

}  // namespace quiver::index
