// Compressed bodies of answers, for clients that ask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "service/http/exchange/message.h"

namespace quiver::service {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

/// The best of those that `accept_encoding` (RFC 9110, 12.5.3) allows: the one with the largest
/// weight, zstd before gzip before none.
[[nodiscard]] Compression choose_compression(std::string_view accept_encoding);
/// True if a client that sent `accept_encoding` takes gzip data.
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);
/// The fastest level of gzip: most answers are made to be read once.
inline constexpr int kFastGzipLevel = 1;
/// gzip data; empty if they would not be smaller. `level` is 1 (fast) to 9 (small).
[[nodiscard]] std::string gzip_if_smaller(std::string_view body, int level = kFastGzipLevel);
/// Compresses the body in place and names the encoding, unless the body would not get smaller.
void compress_answer(Response& response, Compression compression);

}  // namespace quiver::service
