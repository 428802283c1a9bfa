// Bodies that come compressed.
#pragma once

#include <cstddef>

#include "service/http/exchange.h"

namespace quiver::service {

[[nodiscard]] bool is_compressed(const Request& request);
/// Replaces a compressed body by what it stands for: gzip or deflate. 400 if it is damaged or cut
/// off, 413 if it has more than `max_bytes`, 415 for other encodings.
[[nodiscard]] Decoded<> decompress_body(Request& request, std::size_t max_bytes);

}  // namespace quiver::service
