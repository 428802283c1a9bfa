// What an operator sets for gRPC.
#pragma once

#include <cstdint>
#include <string>

namespace quiver::service {

struct GrpcOptions {
  bool enabled = false;
  std::string host;           ///< address or name to listen on; "": the host of HTTP
  std::uint16_t port = 6334;  ///< 0: any free one, see GrpcServer::port
  bool reflection = false;    ///< answer which services and messages there are
};

}  // namespace quiver::service
