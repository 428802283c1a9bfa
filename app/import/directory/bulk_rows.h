// Converts blocks of rows into chunks for bulk loading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "app/import/plan/rows.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/schema.h"
#include "engine/model/bulk.h"

namespace quiver::app {

/// Turns the vectors of JSON points into columns and removes rows without a point, so that row i of
/// every column belongs to point i. All points must fit `fields`.
void align_columns(RowBlock& block, const std::vector<FieldSchema>& fields);

/// A chunk for bulk loading that borrows from an aligned block.
class ChunkOf {
 public:
  explicit ChunkOf(const RowBlock& block);
  [[nodiscard]] engine::BulkChunk& chunk() { return chunk_; }

 private:
  std::vector<PointId> ids_;
  std::vector<std::string_view> payloads_;
  engine::BulkChunk chunk_;
};

/// Estimated memory of the vectors and payloads of `block`, in bytes.
[[nodiscard]] std::uint64_t size_bytes(const RowBlock& block);

}  // namespace quiver::app
