// What a check of a shard found, and what a repair of it did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quiver::engine {

struct ShardFindings {
  std::uint64_t n_rows = 0;           ///< readable rows in the store
  std::uint64_t n_segments = 0;       ///< undamaged segments
  std::vector<std::string> rows;      ///< damage of the store; not empty: a repair is needed
  std::vector<std::string> segments;  ///< damaged segments; opening the shard rebuilds them
};

struct ShardRepair {
  std::uint64_t n_from_store = 0;     ///< rows read from the store
  std::uint64_t n_from_segments = 0;  ///< rows that the store lacked or had an older version of
  std::uint64_t n_from_logs = 0;      ///< changes read from logs after damaged records
  std::uint64_t n_lost = 0;           ///< points named in the store, but found in no file
  std::uint64_t n_bad_segments = 0;   ///< segments that could not be read
  std::uint64_t n_older = 0;          ///< points of which only an older version was readable
  bool deletes_are_known = true;      ///< false: deleted points may be back
  bool rows_are_gone = false;         ///< true: nothing of the store could be read
  bool has_damaged_logs =
      false;  ///< changes in damaged records are lost, unless segments have them
  std::vector<std::string> kept;  ///< paths to which damaged files were moved
};

/// By the number of the shard, as its directory is named.
using CollectionFindings = std::map<std::uint32_t, ShardFindings>;
/// By the number of the shard; nullopt for shards that need no repair.
using CollectionRepair = std::map<std::uint32_t, std::optional<ShardRepair>>;

}  // namespace quiver::engine
