// A bulk chunk, checked and in stored form: row files and segments are written from it.
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
  /// Each row of the chunk takes a sequence number, as in an upsert, even if a later row of the
  /// same id overwrites it.
  std::uint64_t n_numbers = 0;
  std::vector<RowRef> rows;  ///< rows of `BulkRows::data` as segment 0; ascending by id
};

struct BulkRows {
  /// Borrows values of the chunk that need no conversion. Unsealed, without id table and searchers.
  SegmentData data;
  std::vector<Seq> numbers;     ///< `[n_rows]`; counted from 0 in each shard
  std::vector<BulkPart> parts;  ///< shards that get rows, ascending
};

/// Checks the whole chunk and converts it, on the calling thread and on `executor`.
/// kInvalidArgument names the first point that does not fit.
[[nodiscard]] Result<BulkRows> make_bulk_rows(const BulkChunk& chunk,
                                              const CollectionConfig& config, Executor& executor);

/// Appends the value of a row as the store keeps it.
void append_row(const SegmentData& data, std::uint32_t row, std::string& out);

}  // namespace quiver::engine
