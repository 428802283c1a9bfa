#include "service/client/download.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "service/client/tls_session.h"

namespace quiver::client {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxHeadBytes = std::size_t{64} << 10;
constexpr std::uint64_t kUntilClosed = std::numeric_limits<std::uint64_t>::max();

tl::unexpected<Error> bad_answer(std::string_view what) {
  return fail(Code::kFailedPrecondition, fmt::format("the server's answer is no file: {}", what));
}

/// The value of a header, in lower case; "" if there is none.
std::string header(std::string_view head, std::string_view lower_name) {
  std::string lower(head);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t at = lower.find(fmt::format("\r\n{}:", lower_name));
  if (at == std::string::npos) return {};
  const std::size_t begin = lower.find_first_not_of(' ', at + lower_name.size() + 3);
  return lower.substr(begin, lower.find("\r\n", begin) - begin);
}

/// A connection, with TLS or without.
class Wire {
 public:
  explicit Wire(const Endpoint& endpoint) : endpoint_(endpoint) {}

  Result<> connect() {
    QV_TRY(socket_, connect_to(endpoint_));
    if (endpoint_.is_tls) {
      QV_TRY(tls_, TlsSession::connect(socket_, endpoint_));
    }
    return {};
  }

  Result<> send_all(std::string_view bytes) {
    if (tls_) return tls_->send(bytes, More::kNo);
    while (!bytes.empty()) {
      const ssize_t n = send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return broken("cannot send to");
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  }

  /// Up to `size` bytes; 0 at the end.
  Result<std::size_t> receive(char* space, std::size_t size) {
    if (tls_) return tls_->receive(space, size);
    for (;;) {
      const ssize_t n = recv(socket_.fd(), space, size, 0);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) return broken("no answer from");
    }
  }

 private:
  [[nodiscard]] tl::unexpected<Error> broken(std::string_view what) const {
    return fail(Code::kUnavailable, fmt::format("{} {}:{}: {}", what, endpoint_.host,
                                                endpoint_.port, std::strerror(errno)));
  }

  const Endpoint& endpoint_;
  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  ///< over `socket_`
};

/// Reads one answer. The body's framing is a length, chunks, or the end.
class Answer {
 public:
  explicit Answer(Wire& wire) : wire_(wire) {}

  Result<> read_head(int wanted_status) {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (buffer_.size() > kMaxHeadBytes) return bad_answer("its head is too long");
      QV_TRY(const bool more, receive());
      if (!more) return bad_answer("it ends within its head");
    }
    head_ = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    int status = 0;
    const std::size_t space = std::min(head_.find(' '), head_.size() - 1);
    std::from_chars(head_.data() + space + 1, head_.data() + head_.size(), status);
    if (!head_.starts_with("HTTP/1.")) return bad_answer("it is no HTTP/1.1");
    if (status == wanted_status) return {};
    return bad_answer(fmt::format("status {}, wanted {}", status, wanted_status));
  }

  Result<> read_body(const TakePiece& take) {
    if (header(head_, "transfer-encoding").find("chunked") != std::string::npos) {
      return read_chunks(take);
    }
    const std::string length = header(head_, "content-length");
    std::uint64_t n = kUntilClosed;
    if (!length.empty()) {
      const char* last = length.data() + length.size();
      if (std::from_chars(length.data(), last, n).ec != std::errc()) {
        return bad_answer("its content-length is no number");
      }
    }
    return read_bytes(n, take);
  }

 private:
  Result<> read_bytes(std::uint64_t n, const TakePiece& take) {
    while (n > 0) {
      if (buffer_.empty()) {
        QV_TRY(const bool more, receive());
        if (!more && n == kUntilClosed) return {};
        if (!more) return fail(Code::kUnavailable, "the download is incomplete");
      }
      const std::size_t here = std::min<std::uint64_t>(n, buffer_.size());
      QV_TRY(take(std::string_view(buffer_).substr(0, here)));
      buffer_.erase(0, here);
      if (n != kUntilClosed) n -= here;
    }
    return {};
  }

  Result<> read_chunks(const TakePiece& take) {
    while (true) {
      QV_TRY(const std::string line, read_line());
      std::uint64_t n = 0;
      const char* last = line.data() + line.size();
      if (std::from_chars(line.data(), last, n, 16).ec != std::errc()) {
        return bad_answer("the size of a chunk is no number");
      }
      if (n == 0) return {};
      QV_TRY(read_bytes(n, take));
      QV_TRY(read_line());
    }
  }

  Result<std::string> read_line() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
      if (buffer_.size() > kMaxHeadBytes) return bad_answer("a line is too long");
      QV_TRY(const bool more, receive());
      if (!more) return fail(Code::kUnavailable, "the download is incomplete");
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 2);
    return line;
  }

  /// False if the server has closed the connection.
  Result<bool> receive() {
    piece_.resize(kPieceBytes);
    QV_TRY(const std::size_t n, wire_.receive(piece_.data(), piece_.size()));
    buffer_.append(piece_.data(), n);
    return n > 0;
  }

  Wire& wire_;
  std::string head_;
  std::string buffer_;  ///< received, not taken yet
  std::vector<char> piece_;
};

}  // namespace

Result<> download(const Endpoint& endpoint, std::string_view target, std::string_view api_key,
                  const TakePiece& take, std::optional<ByteRange> range) {
  // Nothing but these two comes from elsewhere, and neither may begin a line of its own.
  for (const auto text : {target, api_key}) {
    if (std::ranges::none_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; })) continue;
    return fail(Code::kInvalidArgument, "a path or an API key contains control characters");
  }
  Wire wire(endpoint);
  QV_TRY(wire.connect());
  std::string request = request_text("GET", target, endpoint, api_key, "");
  std::string extra = "Connection: close\r\n";
  if (range) {
    extra +=
        fmt::format("Range: bytes={}-{}\r\n", range->offset, range->offset + range->size_bytes - 1);
  }
  request.insert(request.size() - 2, extra);
  QV_TRY(wire.send_all(request));
  Answer answer(wire);
  QV_TRY(answer.read_head(range ? 206 : 200));
  return answer.read_body(take);
}

}  // namespace quiver::client
