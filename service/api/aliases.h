// Verbs about aliases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/model/alias.h"
#include "service/api/call.h"

namespace quiver::service::api {

/// All aliases of collections that the caller may read, or those of `collection`.
[[nodiscard]] Result<std::vector<engine::Alias>> list_aliases(
    Call& call, const std::optional<std::string>& collection);
/// Does all actions or none.
void update_aliases(Call& call, std::vector<engine::AliasAction> actions, Done<> done);

}  // namespace quiver::service::api
