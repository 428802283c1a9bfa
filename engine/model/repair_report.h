// What a check of a shard found, and what a repair of it did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quiver::engine {

struct ShardFindings {
  std::uint64_t n_rows = 0;           ///< that can be read, in the store
  std::uint64_t n_segments = 0;       ///< that are sound
  std::vector<std::string> rows;      ///< what is wrong with the store; a repair is wanted
  std::vector<std::string> segments;  ///< damaged ones; they are made anew when it is opened
};

struct ShardRepair {
  std::uint64_t n_from_store = 0;
  std::uint64_t n_from_segments = 0;  ///< rows that the store had lost, or had older
  std::uint64_t n_from_logs = 0;      ///< changes that stood behind damage
  std::uint64_t n_lost = 0;           ///< points that the store names, and nothing holds
  std::uint64_t n_bad_segments = 0;   ///< that could not be read
  std::uint64_t n_older = 0;          ///< of which an older version was all that could be read
  bool deletes_are_known = true;      ///< false: points that were deleted may be back
  bool rows_are_gone = false;         ///< nothing of the store could be read
  bool has_damaged_logs =
      false;  ///< changes in damaged records are lost, unless segments have them
  std::vector<std::string> kept;  ///< where the damaged files are now
};

}  // namespace quiver::engine
