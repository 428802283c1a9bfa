// Blocks of rows in the shape that bulk loading takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "app/import/plan/rows.h"
#include "app/import/reading/bad_rows.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/schema.h"
#include "engine/model/bulk.h"

namespace quiver::app {

/// Takes points out of `block` that do not fit `fields` and gives them to `bad_rows`; `describe`
/// names a row. Looks at every vector, slowly: for blocks that were refused, and for JSON points.
/// When one of them stops the import, the block ends before it, and the error is returned.
Result<> remove_unfit(RowBlock& block, const std::vector<FieldSchema>& fields, BadRows& bad_rows,
                      const std::function<std::string(std::uint64_t)>& describe);

/// The vectors of JSON points become columns, and columns lose the rows that have no point, so that
/// row i of every column belongs to point i. All points fit `fields`.
void align_columns(RowBlock& block, const std::vector<FieldSchema>& fields);

/// Borrows everything from an aligned block.
class ChunkOf {
 public:
  explicit ChunkOf(const RowBlock& block);
  [[nodiscard]] engine::BulkChunk& chunk() { return chunk_; }

 private:
  std::vector<PointId> ids_;
  std::vector<std::string_view> payloads_;
  engine::BulkChunk chunk_;
};

/// About how much memory the vectors and payloads of `block` take.
[[nodiscard]] std::uint64_t size_bytes(const RowBlock& block);

}  // namespace quiver::app
