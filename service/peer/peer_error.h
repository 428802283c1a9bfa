// An error on its way from one node to another: {"code":14,"message":"…"}.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace quiver::service {

[[nodiscard]] std::string peer_error_json(const Error& error);
/// The error of an answer that is none of `PeerServer`'s has the status in its text; its code is
/// kPermissionDenied for 403, kResourceExhausted for 413, kUnavailable for 503, else kInternal.
[[nodiscard]] Error peer_error(int status, std::string_view body);

}  // namespace quiver::service
