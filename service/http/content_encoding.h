// Compressed bodies of requests.
#pragma once

#include "service/http/exchange/exchange.h"

namespace quiver::service {

[[nodiscard]] bool is_compressed(const Request& request);
/// Decompresses the body: gzip (one or more members) or deflate. Errors: 400 if the body is damaged
/// or cut off, 413 if it decompresses to more than `max_body_bytes`, 415 for other encodings. 503
/// if the bodies of all requests would exceed their common limit.
[[nodiscard]] Decoded<> decompress_body(Exchange& x);

}  // namespace quiver::service
