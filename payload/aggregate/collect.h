// Gives the rows of a segment to collectors: by attributes, columns and documents.
#pragma once

#include <span>

#include "base/bitset.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "payload/aggregate/collector.h"
#include "payload/filter/rows_view.h"
#include "payload/schema.h"

namespace quiver::payload {

/// Adds the rows of `within` (n_rows bits; nullptr: all rows) to each collector. Reads a document
/// at most once, and only if neither attributes nor a column of `indexes` tell its values under
/// some path. kCancelled or kDeadlineExceeded from `cancel`; kInvalidArgument from
/// `Collector::check`; kDataLoss, naming the point, if a stored document is not JSON.
[[nodiscard]] Result<> collect(std::span<Collector* const> collectors, const RowsView& rows,
                               const Bitset* within, std::span<const FieldIndex> indexes,
                               const Cancel& cancel);

}  // namespace quiver::payload
