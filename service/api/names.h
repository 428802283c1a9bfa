// Which names a collection or an alias may have, and how errors name a search of a batch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quiver::service::api {

/// kInvalidArgument "value "x" invalid, must be from 1 to 255 characters" unless the length is.
[[nodiscard]] Result<> check_name_length(std::string_view name);
/// kInvalidArgument, with the reason, unless a collection may have this name.
[[nodiscard]] Result<> check_collection_name(std::string_view name);
/// True if `check_collection_name` finds nothing wrong. Does not allocate.
[[nodiscard]] bool is_collection_name(std::string_view name);

/// `text` followed by " (in searches[3])", or `text` itself if it names this search already.
[[nodiscard]] std::string in_search(std::size_t index, std::string text);

}  // namespace quiver::service::api
