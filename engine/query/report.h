// Reports on the stages of a query, for `explain`.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/model/query.h"
#include "engine/query/stages/stage.h"

namespace quiver::engine {

/// As requests spell it: "nearest", "rrf", …
[[nodiscard]] std::string_view name_of(const QueryKind& kind);

/// `stage`, the stage of `query`, with a report: in the environment's report if `query` is the
/// whole query, else among the prefetches of the stage above. Borrows `query`.
[[nodiscard]] StagePtr reported(const Query& query, std::uint64_t limit, bool is_root,
                                StagePtr stage);

}  // namespace quiver::engine
