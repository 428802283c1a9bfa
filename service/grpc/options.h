// What an operator sets for gRPC.
#pragma once

#include <cstdint>
#include <string>

namespace quiver::service {

struct GrpcOptions {
  static constexpr std::int32_t kAnyPort = -1;
  std::int32_t port = 0;    ///< 0: no gRPC
  std::string host;         ///< address or name to listen on; "": the host of HTTP
  bool reflection = false;  ///< answer which services and messages there are
};

}  // namespace quiver::service
