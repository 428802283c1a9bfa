// The record of a bulk load in a shard's store until the load is over: docs/formats/shard-store.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace quiver::engine {

/// In each shard that takes part: its files are complete. The manifest that names them deletes it.
inline constexpr std::string_view kBulkIntentKey = "bulk/intent";
/// In the first shard only: the load that was decided last, and its cursor.
inline constexpr std::string_view kBulkLoadKey = "bulk/load";
inline constexpr std::string_view kBulkCursorKey = "bulk/cursor";

struct BulkIntent {
  std::uint64_t load = 0;
  std::uint64_t segment = 0;
  std::uint64_t n_files = 0;  ///< files of rows
  PointId first_id;           ///< the lowest id
  Seq first_seq{};  ///< number of the row `first_id`: tells whether the store has the rows
  Seq last_seq{};   ///< the last number of this load

  bool operator==(const BulkIntent&) const = default;
};

[[nodiscard]] std::string encode_intent(const BulkIntent& intent);
[[nodiscard]] Result<BulkIntent> decode_intent(std::string_view text);

/// The name of row file number `i` of a load, beside the store's own files.
[[nodiscard]] std::string row_file_name(std::uint64_t segment, std::uint64_t i);
[[nodiscard]] std::vector<std::string> row_file_names(const BulkIntent& intent);

}  // namespace quiver::engine
