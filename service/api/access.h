// Who calls, as verbs and transports see it.
#pragma once

#include "base/result.h"
#include "service/access/access.h"
#include "service/access/keys.h"

namespace quiver::service::api {

using access::Access;
using access::Credentials;
using access::Principal;

class Call;
class Runtime;

/// The caller that shows `credentials`. Looks in the database for what the token's `value_exists`
/// names, so it may block then, and only then. kUnauthenticated or kPermissionDenied: the message
/// alone is the text for the caller, without the prefix that other errors have.
[[nodiscard]] Result<Principal> authenticate(Runtime& runtime, const Credentials& credentials);
/// As `authenticate`, in two steps: without the database, then the rest, which may block.
[[nodiscard]] Result<Principal> principal_of(Runtime& runtime, const Credentials& credentials);
[[nodiscard]] Result<> check_value_exists(Runtime& runtime, const Principal& principal);

}  // namespace quiver::service::api
