#include "service/api/access.h"

namespace quiver::service::api {
namespace {

/// Takes the same time wherever the texts differ.
bool equal_constant_time(std::string_view given, std::string_view expected) {
  unsigned difference = given.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = expected.empty() ? '\0' : expected[i % expected.size()];
    difference |= static_cast<unsigned char>(given[i] ^ other);
  }
  return difference == 0;
}

bool is_key(std::string_view given, std::string_view key) {
  return !key.empty() && equal_constant_time(given, key);
}

}  // namespace

Result<> check_access(const Principal& principal, Access needed) {
  if (principal.access >= needed) return {};
  return fail(Code::kPermissionDenied, "the read-only API key does not allow this request");
}

Result<Principal> Keys::principal_of(std::optional<std::string_view> key) const {
  if (api_key_.empty() && read_only_api_key_.empty()) return Principal{Access::kWrite};
  if (!key) {
    return fail(Code::kUnauthenticated, "Must provide an API key or an Authorization bearer token");
  }
  if (is_key(*key, api_key_)) return Principal{Access::kWrite};
  if (is_key(*key, read_only_api_key_)) return Principal{Access::kRead};
  return fail(Code::kUnauthenticated, "Invalid API key or JWT");
}

}  // namespace quiver::service::api
