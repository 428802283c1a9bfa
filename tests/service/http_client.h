// A plain blocking HTTP/1.1 client over one socket, for tests: raw bytes out, answers in.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tests/patience.h"

namespace quiver::service {

struct HttpAnswer {
  int status = 0;  ///< 0: the connection was closed before an answer
  std::map<std::string, std::string> headers;
  std::string body;
  bool is_whole = false;  ///< the body ended as the head says
};

class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto wait =
        std::chrono::duration_cast<std::chrono::seconds>(patience(std::chrono::seconds(10)));
    timeval timeout{wait.count(), 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~HttpClient() { ::close(socket_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  HttpAnswer request(std::string_view method, std::string_view target, std::string_view body = "",
                     std::string_view headers = "") {
    send(std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nhost: x\r\n" +
         std::string(headers) + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body));
    return receive(method != "HEAD");
  }

  HttpAnswer receive(bool has_body = true) {
    HttpAnswer answer;
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
      if (!fill()) return answer;
    }
    const auto end = buffer_.find("\r\n\r\n");
    parse_head(buffer_.substr(0, end), answer);
    buffer_.erase(0, end + 4);
    if (!has_body) return answer;
    const bool is_chunked = answer.headers.count("transfer-encoding") > 0;
    const auto length = answer.headers.find("content-length");
    if (is_chunked) {
      answer.is_whole = take_chunks(answer.body);
    } else {
      const std::size_t n = length != answer.headers.end() ? std::stoul(length->second) : 0;
      answer.is_whole = take(n, answer.body);
    }
    return answer;
  }
  /// All bytes until the server closes the connection.
  std::string receive_rest() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
  }

  /// True if the server closes the connection (within the time limit) without sending more.
  bool is_closed() { return buffer_.empty() && !fill(); }

 private:
  /// Appends the next `n` bytes to `out`; false if the connection ends before.
  bool take(std::size_t n, std::string& out) {
    while (buffer_.size() < n) {
      if (!fill()) return false;
    }
    out.append(buffer_, 0, n);
    buffer_.erase(0, n);
    return true;
  }
  bool take_chunks(std::string& out) {
    for (;;) {
      while (buffer_.find("\r\n") == std::string::npos) {
        if (!fill()) return false;
      }
      const std::size_t n = std::stoul(buffer_, nullptr, 16);
      buffer_.erase(0, buffer_.find("\r\n") + 2);
      std::string end;
      if (!take(n, out) || !take(2, end)) return false;
      if (n == 0) return true;
    }
  }
  bool fill() {
    char bytes[16384];
    const auto n = ::recv(socket_, bytes, sizeof(bytes), 0);
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }
  static void parse_head(const std::string& head, HttpAnswer& answer) {
    answer.status = std::stoi(head.substr(9, 3));
    std::size_t line = head.find("\r\n");
    while (line != std::string::npos) {
      const auto next = head.find("\r\n", line + 2);
      const std::string text = head.substr(line + 2, next - line - 2);
      const auto colon = text.find(": ");
      if (colon != std::string::npos)
        answer.headers[text.substr(0, colon)] = text.substr(colon + 2);
      line = next;
    }
  }

  int socket_;
  bool connected_ = false;
  std::string buffer_;
};

}  // namespace quiver::service
