// Bodies that come compressed.
#pragma once

#include "service/http/exchange.h"

namespace quiver::service {

[[nodiscard]] bool is_compressed(const Request& request);
/// Replaces a compressed body by what it stands for: gzip (of one or more members) or deflate. 400
/// if it is damaged or cut off, 413 if it has more than `max_body_bytes`, 415 for other encodings,
/// 503 if it makes the bodies of all exchanges too much.
[[nodiscard]] Decoded<> decompress_body(Exchange& x);

}  // namespace quiver::service
