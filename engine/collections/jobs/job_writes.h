// Writes the outcome of a job into its collection, by the path that all updates take.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/joins.h"
#include "engine/model/operation.h"

namespace quiver::engine {

/// Applies operations as one request and returns when they are durable.
using ApplyOperations = std::function<Result<>(std::vector<Operation>)>;

/// Points that have gone meanwhile are left out. Running it again changes nothing more.
[[nodiscard]] Result<> write_outcome(const JoinRequest& request, const JoinTable& table,
                                     const ApplyOperations& apply, const Cancel& cancel,
                                     JoinProgress& progress);

}  // namespace quiver::engine
