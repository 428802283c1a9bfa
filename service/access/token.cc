#include "service/access/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>

#include "service/access/base64url.h"

namespace quiver::service::access {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

struct Parts {
  std::string_view header, payload, signature;
  std::string_view signed_text;  ///< header and payload, with the dot between them
};

/// nullopt unless there are exactly three parts.
std::optional<Parts> split(std::string_view token) {
  if (token.size() > kMaxTokenBytes) return std::nullopt;
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  if (token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
               token.substr(second + 1), token.substr(0, second)};
}

std::optional<object> parse_object(simdjson::dom::parser& parser, const std::string& text) {
  object parsed;
  if (parser.parse(text).get(parsed) != simdjson::SUCCESS) return std::nullopt;
  return parsed;
}

/// True if no name occurs twice: readers differ in which of the two they take.
bool has_distinct_names(const object& members) {
  std::vector<std::string_view> names;
  for (const auto& member : members) names.push_back(member.key);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

/// The member of this name unless it is missing or null.
std::optional<element> member_of(const object& members, std::string_view name) {
  element found;
  if (members.at_key(name).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

/// False if the member is there and no string.
bool read_string(const object& members, std::string_view name, std::string& out) {
  const auto found = member_of(members, name);
  if (!found) return true;
  std::string_view text;
  if (found->get(text) != simdjson::SUCCESS) return false;
  out = text;
  return true;
}

/// Only HS256, and no extension that must be understood (`crit`).
bool is_known_header(std::string_view part) {
  const auto text = decode_base64url(part);
  if (!text) return false;
  simdjson::dom::parser parser;
  const auto header = parse_object(parser, *text);
  if (!header || !has_distinct_names(*header)) return false;
  std::string algorithm;
  if (!read_string(*header, "alg", algorithm) || algorithm != "HS256") return false;
  return !member_of(*header, "crit");
}

std::optional<Grant> grant_of(std::string_view mode) {
  if (mode == "r") return Grant::kRead;
  if (mode == "rw") return Grant::kReadWrite;
  if (mode == "prw") return Grant::kPointsReadWrite;
  return std::nullopt;
}

struct ReadClaims {
  Principal::Level level = Principal::Level::kManage;
  Principal::Claims claims;
  std::optional<std::uint64_t> expires_at_s;
};

/// One item of `access`. A constraint on the payload, which old servers knew, is not taken.
std::optional<TokenFault> read_grant(const element& item, ReadClaims& out) {
  object members;
  if (item.get(members) != simdjson::SUCCESS || !has_distinct_names(members)) {
    return TokenFault::kNotAToken;
  }
  std::string collection;
  std::string mode;
  const bool is_named = member_of(members, "collection") && member_of(members, "access");
  if (!is_named || !read_string(members, "collection", collection) ||
      !read_string(members, "access", mode)) {
    return TokenFault::kNotAToken;
  }
  const auto grant = grant_of(mode);
  if (!grant) return TokenFault::kNotAToken;
  if (member_of(members, "payload")) return TokenFault::kBadAccess;
  for (const auto& other : out.claims.grants) {
    if (other.collection == collection) return TokenFault::kBadAccess;
  }
  out.claims.grants.push_back({std::move(collection), *grant});
  return std::nullopt;
}

std::optional<TokenFault> read_access(const object& members, ReadClaims& out) {
  element access;
  if (members.at_key("access").get(access) != simdjson::SUCCESS) return std::nullopt;
  std::string_view global;
  if (access.get(global) == simdjson::SUCCESS) {
    if (global != "r" && global != "m") return TokenFault::kNotAToken;
    out.level = global == "m" ? Principal::Level::kManage : Principal::Level::kGlobalRead;
    return std::nullopt;
  }
  simdjson::dom::array list;
  if (access.get(list) != simdjson::SUCCESS) return TokenFault::kNotAToken;
  out.level = Principal::Level::kCollections;
  for (const element item : list) {
    if (const auto fault = read_grant(item, out)) return fault;
  }
  return std::nullopt;
}

std::optional<ValueExists::Value> match_value(const element& value) {
  std::string_view text;
  std::int64_t number = 0;
  bool truth = false;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  if (value.get(number) == simdjson::SUCCESS) return number;
  if (value.get(truth) == simdjson::SUCCESS) return truth;
  return std::nullopt;
}

bool read_match(const element& item, ValueExists& out) {
  object members;
  element value;
  std::string key;
  if (item.get(members) != simdjson::SUCCESS || !has_distinct_names(members)) return false;
  if (!member_of(members, "key") || !read_string(members, "key", key)) return false;
  if (members.at_key("value").get(value) != simdjson::SUCCESS) return false;
  auto wanted = match_value(value);
  if (!wanted) return false;
  out.matches.push_back({std::move(key), *std::move(wanted)});
  return true;
}

bool read_value_exists(const object& members, ReadClaims& out) {
  const auto found = member_of(members, "value_exists");
  if (!found) return true;
  object claim;
  simdjson::dom::array matches;
  auto& wanted = out.claims.value_exists.emplace();
  if (found->get(claim) != simdjson::SUCCESS || !has_distinct_names(claim)) return false;
  if (!member_of(claim, "collection") || !read_string(claim, "collection", wanted.collection)) {
    return false;
  }
  if (claim.at_key("matches").get(matches) != simdjson::SUCCESS) return false;
  for (const element item : matches) {
    if (!read_match(item, wanted)) return false;
  }
  return true;
}

/// False if `exp` is there and no whole number of seconds.
bool read_expiry(const object& members, ReadClaims& out) {
  const auto found = member_of(members, "exp");
  if (!found) return true;
  std::uint64_t seconds = 0;
  if (found->get(seconds) != simdjson::SUCCESS) return false;
  out.expires_at_s = seconds;
  return true;
}

std::optional<TokenFault> read_claims(const std::string& text, ReadClaims& out) {
  simdjson::dom::parser parser;
  const auto members = parse_object(parser, text);
  if (!members || !has_distinct_names(*members)) return TokenFault::kNotAToken;
  std::string bearer;  // `sub`, which names the caller to other services
  const bool is_typed = read_string(*members, "sub", bearer) && read_expiry(*members, out) &&
                        read_string(*members, "subject", out.claims.subject) &&
                        read_value_exists(*members, out);
  if (!is_typed) return TokenFault::kNotAToken;
  if (out.claims.subject.empty()) out.claims.subject = std::move(bearer);
  return read_access(*members, out);
}

bool has_expired(const ReadClaims& claims, std::int64_t now_s) {
  if (!claims.expires_at_s) return false;
  const std::int64_t first_late_s = now_s - kExpiryLeewayS;
  return first_late_s > 0 && *claims.expires_at_s < static_cast<std::uint64_t>(first_late_s);
}

}  // namespace

bool equals_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hmac_sha256(std::string_view secret, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes, text.size(),
           code.data(), &size) == nullptr) {
    return {};
  }
  return {reinterpret_cast<const char*>(code.data()), size};
}

std::variant<Principal, TokenFault> read_token(std::string_view token, std::string_view secret,
                                               std::int64_t now_s) {
  const auto parts = split(token);
  if (!parts || !is_known_header(parts->header)) return TokenFault::kNotAToken;
  const auto signature = decode_base64url(parts->signature);
  const auto payload = decode_base64url(parts->payload);
  if (!signature || !payload) return TokenFault::kNotAToken;
  const std::string expected = hmac_sha256(secret, parts->signed_text);
  if (expected.empty() || !equals_in_constant_time(*signature, expected)) {
    return TokenFault::kBadSignature;
  }
  ReadClaims read;
  const auto fault = read_claims(*payload, read);
  if (fault == TokenFault::kNotAToken) return *fault;
  if (has_expired(read, now_s)) return TokenFault::kExpired;
  if (fault) return *fault;
  return Principal(read.level, KeyKind::kToken,
                   std::make_shared<const Principal::Claims>(std::move(read.claims)));
}

}  // namespace quiver::service::access
