// A bulk chunk checked and in stored form: what row files and segments are written from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/threads/executor.h"
#include "engine/model/bulk.h"
#include "engine/model/config.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"

namespace quiver::engine {

/// The rows of one shard.
struct BulkPart {
  std::uint32_t shard = 0;
  /// As an upsert counts them: each row of the chunk takes a number, also one that is overwritten
  /// by a later row of the same id.
  std::uint64_t n_numbers = 0;
  std::vector<RowRef> rows;  ///< of segment 0, which is `BulkRows::data`; ascending by id
};

struct BulkRows {
  /// Borrows what of the chunk can be used as it is. Unsealed, without id table and searchers.
  SegmentData data;
  std::vector<Seq> numbers;     ///< `[n_rows]`; for each shard on its own, from 0
  std::vector<BulkPart> parts;  ///< of shards that get rows, ascending
};

/// Checks the whole chunk and converts it, on the caller's thread and on those of `executor`.
/// kInvalidArgument names the first point that does not fit.
[[nodiscard]] Result<BulkRows> make_bulk_rows(const BulkChunk& chunk,
                                              const CollectionConfig& config, Executor& executor);

/// Appends the row's value for the store.
void append_row(const SegmentData& data, std::uint32_t row, std::string& out);

}  // namespace quiver::engine
