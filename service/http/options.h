// What an operator sets for HTTP connections.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver::service {

struct HttpOptions {
  std::size_t max_body_bytes = 32ULL << 20;  ///< longer bodies are answered 413
  /// Over all connections, counting bodies of 1 MiB and more, compressed ones by their decompressed
  /// size; bodies beyond it are refused with 503.
  std::size_t max_held_body_bytes = 1ULL << 30;
  std::uint32_t max_header_bytes = 16 << 10;  ///< request line and headers; longer ones are 431
  double keep_alive_timeout_s = 75;           ///< until a connection without a request is closed
  double read_timeout_s = 60;                 ///< until a stalled request or answer is given up
  /// Bodies up to this size are decoded on the thread that read them.
  std::size_t inline_body_bytes = 64ULL << 10;
  /// Larger answers are compressed for clients that ask; 0: none are.
  std::size_t compress_above_bytes = 32ULL << 10;
  bool is_https = false;    ///< for traces; a server sets it by its TLS options
  bool cors = false;        ///< answer browsers of any origin
  bool has_console = true;  ///< serve the web console
};

}  // namespace quiver::service
