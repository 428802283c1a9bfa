// A TCP server in a test, which does only what the test says.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "service/client/http.h"

namespace quiver::client {

/// Listens on a free port of loopback and answers nothing by itself.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_.fd(), raw, size), 0);
    EXPECT_EQ(listen(socket_.fd(), 8), 0);
    EXPECT_EQ(getsockname(socket_.fd(), raw, &size), 0);
    port_ = ntohs(address.sin_port);
  }

  [[nodiscard]] Endpoint endpoint() const { return {.host = "127.0.0.1", .port = port_}; }
  [[nodiscard]] Socket accept() const { return Socket(::accept(socket_.fd(), nullptr, nullptr)); }
  /// Accepts a connection, answers one request with these bytes and closes.
  void answer_once(std::string_view answer) const {
    const Socket client = accept();
    std::array<char, 4096> request;
    EXPECT_GT(recv(client.fd(), request.data(), request.size(), 0), 0);
    EXPECT_EQ(send(client.fd(), answer.data(), answer.size(), MSG_NOSIGNAL), std::ssize(answer));
  }

 private:
  Socket socket_;
  std::uint16_t port_ = 0;
};

}  // namespace quiver::client
