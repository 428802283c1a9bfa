// Checks all files of a shard that is not open, and whether rows and segments say the same.
#pragma once

#include <cstdint>
#include <string>

#include "engine/files/findings.h"
#include "engine/model/config.h"
#include "engine/shard/shard_context.h"

namespace quiver::engine {

struct ShardPlace {
  std::string path;   ///< of the shard's directory
  std::string shown;  ///< the same, as findings name it
  std::string collection;
  std::uint32_t shard = 0;
};

/// Reads every byte of rows, logs, segments, payload columns and indexes, and changes nothing.
/// Memory: 32 bytes for each sealed point. True if the store needs a repair.
bool check_shard_files(const ShardPlace& place, const CollectionConfig& config,
                       const ShardContext& context, CheckReport& report);

}  // namespace quiver::engine
