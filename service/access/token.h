// JSON Web Tokens (RFC 7519) signed with HMAC-SHA256 (RFC 7515, "HS256").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "service/access/access.h"

namespace quiver::service::access {

/// A longer text is no token.
inline constexpr std::size_t kMaxTokenBytes = 16 << 10;
/// Seconds that a token is taken after its `exp`, for clocks that differ.
inline constexpr std::int64_t kExpiryLeewayS = 30;

/// Why a text is not taken as a token.
enum class TokenFault : std::uint8_t {
  kNotAToken,     ///< malformed, another algorithm, or claims of a wrong type
  kBadSignature,  ///< signed with another key
  kExpired,
  kBadAccess,  ///< well-formed, but its `access` cannot be: a collection named twice
};

/// The caller that `token` speaks for, if it is signed with `secret`.
[[nodiscard]] std::variant<Principal, TokenFault> read_token(std::string_view token,
                                                             std::string_view secret,
                                                             std::int64_t now_s);
/// The 32 bytes of HMAC-SHA256; empty if OpenSSL fails.
[[nodiscard]] std::string hmac_sha256(std::string_view secret, std::string_view text);
/// Compares in a time that depends on the sizes only.
[[nodiscard]] bool equals_in_constant_time(std::string_view a, std::string_view b);

}  // namespace quiver::service::access
