// Directories of shards whose keys are gone.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/model/config.h"

namespace quiver::engine {

/// Removes from a closed collection's directory, which it makes if need be, the shards that
/// `config` does not name: a crash ended their creation or deletion.
[[nodiscard]] Result<> remove_stray_shards(const std::string& path, const CollectionConfig& config);

}  // namespace quiver::engine
