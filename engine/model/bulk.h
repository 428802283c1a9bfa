// Many points at once, straight into a data directory: what `Collection::bulk_load` is given.
//
// A chunk becomes one file of rows and one sealed segment per shard, written once; it does not pass
// the update queue, the log and the mutable segment (docs/decisions/0011).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"

namespace quiver::engine {

/// A good size for the vectors and payloads of a chunk, in bytes. Each chunk becomes one segment,
/// so chunks of this size load 2 GB without a merge. While it is loaded, a chunk also needs about
/// 30 MB and a copy of its vectors in stored form. f32 fields need no copy if they are not Cosine
/// and their dimension is a multiple of 16.
inline constexpr std::uint64_t kBulkChunkBytes = 256ULL << 20;

/// `[n, dim]`, row-major.
struct DenseRows {
  std::span<const float> values;
};
/// Compressed sparse rows: row i has entries `[offsets[i], offsets[i + 1])`, in any order, indices
/// unique. `offsets[0]` need not be 0: it may be a slice of a larger table.
struct SparseRows {
  std::span<const std::uint64_t> offsets;  ///< `[n + 1]`
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
};
/// Row i has tokens `[offsets[i], offsets[i + 1])` of `values`, `[n_tokens, dim]`; `offsets[0]`
/// need not be 0.
struct MultiRows {
  std::span<const std::uint64_t> offsets;  ///< `[n + 1]`
  std::span<const float> values;
};

/// The vectors of one field, one for each point of the chunk. Always f32 here; they are converted
/// to the field's type as an upsert does it.
struct BulkField {
  std::string name;
  std::variant<DenseRows, SparseRows, MultiRows> rows;
  /// `[n]`, 0 where the point has no such vector (its sparse or multi row is empty then); empty:
  /// all have one.
  std::span<const std::uint8_t> present;
};

/// `n` points. Everything is borrowed for the call.
struct BulkChunk {
  std::span<const PointId> ids;                ///< `[n]`, in any order; the last of equal ids wins
  std::vector<BulkField> fields;               ///< vectors of fields not named here are absent
  std::span<const std::string_view> payloads;  ///< `[n]` JSON objects, "" for {}; empty: all {}
  /// Stored with the chunk and read by `Collection::bulk_cursor`. nullopt: does not change.
  std::optional<std::string> cursor;
};

}  // namespace quiver::engine
