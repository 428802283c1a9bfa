// Who a caller is: API keys, and tokens signed with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/access/access.h"

namespace quiver::service::access {

/// Keys as an operator sets them; an empty one is none.
struct KeyOptions {
  std::string api_key;      ///< may do everything; signs tokens
  std::string alt_api_key;  ///< as `api_key`, so that clients can change from one to the other
  std::string read_only_api_key;  ///< reads everything
  bool jwt_rbac = false;          ///< take tokens (JSON Web Tokens, HS256)
};

/// What a request shows, in the words of HTTP headers and of gRPC's metadata. Views into it.
struct Credentials {
  std::optional<std::string_view> api_key;        ///< `api-key`; goes before `authorization`
  std::optional<std::string_view> authorization;  ///< `authorization`, "Bearer KEY-OR-TOKEN"
};

/// The keys of a server. Immutable, so any thread may ask.
class Keys {
 public:
  explicit Keys(KeyOptions options);

  /// The caller that shows these. Without any key every caller may do everything. `now_s`: seconds
  /// since the epoch. kUnauthenticated for no or a wrong key, kPermissionDenied for a token with a
  /// wrong signature or one that has expired. Does not look for what `value_exists` names.
  [[nodiscard]] Result<Principal> principal_of(const Credentials& credentials,
                                               std::int64_t now_s) const;
  /// True if the server has a key.
  [[nodiscard]] bool are_needed() const;

 private:
  [[nodiscard]] Result<Principal> principal_of_token(std::string_view token,
                                                     std::int64_t now_s) const;

  KeyOptions options_;
};

}  // namespace quiver::service::access
