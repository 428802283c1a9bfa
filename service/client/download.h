// A body that is too large for memory, fetched over HTTP/1.1 and given on piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/client/http.h"

namespace quiver::client {

using TakePiece = std::function<Result<>(std::string_view)>;

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// Sends GET and calls `take` with the body. Follows no redirects. kUnavailable if the connection
/// breaks or the body is incomplete; kFailedPrecondition for another status than 200 (206 with a
/// range). An error of `take` ends it.
[[nodiscard]] Result<> download(const Endpoint& endpoint, std::string_view target,
                                std::string_view api_key, const TakePiece& take,
                                std::optional<ByteRange> range = std::nullopt);

}  // namespace quiver::client
