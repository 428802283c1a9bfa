#include "service/access/keys.h"

#include <array>
#include <utility>

#include "service/access/token.h"

namespace quiver::service::access {
namespace {

bool is_key(std::string_view given, std::string_view key) {
  return !key.empty() && equals_in_constant_time(given, key);
}

std::optional<std::string_view> text_of(const Credentials& credentials) {
  constexpr std::string_view kBearer = "Bearer ";
  if (credentials.api_key) return credentials.api_key;
  if (!credentials.authorization || !credentials.authorization->starts_with(kBearer)) {
    return std::nullopt;
  }
  return credentials.authorization->substr(kBearer.size());
}

Error error_of(TokenFault fault) {
  switch (fault) {
    case TokenFault::kBadSignature:
      return {Code::kPermissionDenied, "InvalidSignature"};
    case TokenFault::kExpired:
      return {Code::kPermissionDenied, "ExpiredSignature"};
    case TokenFault::kBadAccess:
      return {Code::kUnauthenticated,
              "the token's `access` names a collection twice, or has a `payload` constraint"};
    case TokenFault::kNotAToken:
      break;
  }
  return {Code::kUnauthenticated, "Invalid API key or JWT"};
}

}  // namespace

Keys::Keys(KeyOptions options) : options_(std::move(options)) {}

bool Keys::are_needed() const {
  return !options_.api_key.empty() || !options_.alt_api_key.empty() ||
         !options_.read_only_api_key.empty();
}

Result<Principal> Keys::principal_of(const Credentials& credentials, std::int64_t now_s) const {
  if (!are_needed()) return Principal(Principal::Level::kManage);
  const auto text = text_of(credentials);
  if (!text) {
    return fail(Code::kUnauthenticated, "Must provide an API key or an Authorization bearer token");
  }
  // All are compared, so that the time does not tell which one came near.
  const bool is_main = is_key(*text, options_.api_key);
  const bool is_alternative = is_key(*text, options_.alt_api_key);
  const bool is_read_only = is_key(*text, options_.read_only_api_key);
  if (is_main || is_alternative) return Principal(Principal::Level::kManage, KeyKind::kApiKey);
  if (is_read_only) return Principal(Principal::Level::kGlobalRead, KeyKind::kReadOnlyApiKey);
  return principal_of_token(*text, now_s);
}

/// The error is that of the first secret for which the text looks like a token.
Result<Principal> Keys::principal_of_token(std::string_view token, std::int64_t now_s) const {
  TokenFault first = TokenFault::kNotAToken;
  const std::array<std::string_view, 2> secrets = {options_.api_key, options_.alt_api_key};
  for (const auto secret : secrets) {
    if (!options_.jwt_rbac || secret.empty()) continue;
    auto read = read_token(token, secret, now_s);
    if (auto* principal = std::get_if<Principal>(&read)) return std::move(*principal);
    if (first == TokenFault::kNotAToken) first = std::get<TokenFault>(read);
  }
  return fail(error_of(first));
}

}  // namespace quiver::service::access
