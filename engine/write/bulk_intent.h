// What a shard's store remembers of a bulk load until it is over: docs/formats/shard-store.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace quiver::engine {

/// In each shard that takes part: its files are complete. Removed with the manifest that has them.
inline constexpr std::string_view kBulkIntentKey = "bulk/intent";
/// In the first shard only: the load that was decided last, and the cursor kept with it.
inline constexpr std::string_view kBulkLoadKey = "bulk/load";
inline constexpr std::string_view kBulkCursorKey = "bulk/cursor";

struct BulkIntent {
  std::uint64_t load = 0;
  std::uint64_t segment = 0;
  std::uint64_t n_files = 0;  ///< of rows
  PointId first_id;           ///< of the rows in order of id
  Seq first_seq{};            ///< of the row of `first_id`: tells whether the rows are in the store
  Seq last_seq{};             ///< the last number given out for this load

  bool operator==(const BulkIntent&) const = default;
};

[[nodiscard]] std::string encode_intent(const BulkIntent& intent);
[[nodiscard]] Result<BulkIntent> decode_intent(std::string_view text);

/// Names of the files of rows of a load, beside the store's own.
[[nodiscard]] std::string row_file_name(std::uint64_t segment, std::uint64_t i);
[[nodiscard]] std::vector<std::string> row_file_names(const BulkIntent& intent);

}  // namespace quiver::engine
