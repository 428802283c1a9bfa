// Reads that must show all that was acknowledged before them: those with `consistency`.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "service/api/call.h"

namespace quiver::service::api {

/// Whether a node may lack what other nodes have acknowledged. False: the server is alone.
[[nodiscard]] bool may_be_behind(const Call& call);
/// Returns once this node has all that was committed before the call, after `seconds` at most;
/// nullopt: as long as a change waits for a leader. kUnavailable: it has not. Blocks.
/// `collection`: name or alias of what is read.
[[nodiscard]] Result<> wait_until_fresh(Call& call, std::string_view collection,
                                        std::optional<double> seconds);

}  // namespace quiver::service::api
