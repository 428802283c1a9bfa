// Base64url without padding (RFC 4648, section 5), as tokens use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quiver::service::access {

/// Strict: nullopt for padding, other letters, an impossible length, and bits set beyond the last
/// byte. So every byte string has one text.
[[nodiscard]] std::optional<std::string> decode_base64url(std::string_view text);
[[nodiscard]] std::string encode_base64url(std::string_view bytes);

}  // namespace quiver::service::access
