// The strict mode that an operator sets for new collections.
#pragma once

#include <string>
#include <string_view>

namespace quiver::service::api::strict {

/// `client_settings`, the JSON of a collection's creator, with each member of `defaults` that its
/// `strict_mode_config` lacks. Texts that are no JSON objects leave it as it is.
[[nodiscard]] std::string with_default_strict_mode(const std::string& client_settings,
                                                   std::string_view defaults);

}  // namespace quiver::service::api::strict
