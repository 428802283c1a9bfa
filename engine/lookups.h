// Vectors of queries that are named by points of other collections.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/database.h"

namespace quiver::engine {

/// As `Database::resolve_lookups`, by the other functions of `database`.
[[nodiscard]] Result<> resolve_lookups_in(Database& database, const std::string& name,
                                          Query& query);

}  // namespace quiver::engine
