// Who may do what: API keys and the rights that they give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace quiver::service::api {

/// What a request needs, or what a caller may do. Ordered: each level includes those before it.
enum class Access : std::uint8_t {
  kOpen,   ///< no key needed
  kRead,   ///< any key
  kWrite,  ///< the key that may change things
};

/// The caller of a request.
struct Principal {
  Access access = Access::kOpen;  ///< the most that the caller may do
};

/// kPermissionDenied if `principal` may not do what needs `needed`.
[[nodiscard]] Result<> check_access(const Principal& principal, Access needed);

/// The keys of a server. Immutable, so any thread may ask.
class Keys {
 public:
  /// An empty key is none. Without any key every caller may do everything.
  Keys(std::string api_key, std::string read_only_api_key)
      : api_key_(std::move(api_key)), read_only_api_key_(std::move(read_only_api_key)) {}

  /// The caller that shows `key`, or no key. kUnauthenticated if a key is needed and this is none.
  [[nodiscard]] Result<Principal> principal_of(std::optional<std::string_view> key) const;

 private:
  std::string api_key_;
  std::string read_only_api_key_;
};

}  // namespace quiver::service::api
