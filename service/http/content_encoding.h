// Compressed bodies of requests.
#pragma once

#include "service/http/exchange/exchange.h"

namespace quiver::service {

[[nodiscard]] bool is_compressed(const Request& request);
/// Decompresses the body: gzip (one or more members) or deflate. 400 if it is damaged or cut off,
/// 413 if it decompresses to more than `max_body_bytes`, 415 for other encodings, 503 if the bodies
/// of all requests would be too much.
[[nodiscard]] Decoded<> decompress_body(Exchange& x);

}  // namespace quiver::service
