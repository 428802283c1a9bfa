// The part of a body that a request asks for (RFC 9110, 14).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace quiver::service {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// Reads the header `range` for a body of `size_bytes`. nullopt if there is none, or one of another
/// form, which is ignored. kOutOfRange if the body has no such part.
[[nodiscard]] Result<std::optional<ByteRange>> parse_range(std::string_view header,
                                                           std::uint64_t size_bytes);

}  // namespace quiver::service
