// `quiver rescue`: takes what can be read out of a damaged data directory into a new one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/repair_report.h"

namespace quiver::engine {

struct RescueRequest {
  std::string from;
  std::string to;          ///< empty or not there
  std::string collection;  ///< only this one; empty: all, and aliases
};

struct RescuedPart {
  std::string collection;
  std::uint32_t shard = 0;
  std::uint64_t n_points = 0;
  ShardRepair repair;
};

struct RescueReport {
  std::vector<RescuedPart> shards;
  std::uint64_t n_aliases = 0;
  std::vector<std::string> lost;       ///< what could not be taken, one line each
  std::vector<std::string> left_over;  ///< what was not asked for: snapshots, unknown files
};

/// Writes every shard anew from rows, logs and segments: the newest version of each point. `from`
/// is only read, and may be on a file system that cannot be written. Memory: about 64 bytes for
/// each point of the largest shard. kAlreadyExists if `to` holds something; kDataLoss if no catalog
/// can be read; kUnavailable if a server has `from` open.
[[nodiscard]] Result<RescueReport> rescue_data_directory(const RescueRequest& request);

}  // namespace quiver::engine
