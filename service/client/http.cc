#include "service/client/http.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace quiver::client {
namespace {

constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 40;

Error socket_error(std::string_view operation, const Endpoint& endpoint) {
  return Error(Code::kUnavailable, fmt::format("cannot {} {}:{}: {}", operation, endpoint.host,
                                               endpoint.port, socket_error_text(errno)));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> resolve(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (status != 0) {
    return fail(Code::kUnavailable,
                fmt::format("cannot resolve {}: {}", endpoint.host, gai_strerror(status)));
  }
  return Addresses(found, &freeaddrinfo);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::optional<std::size_t> parse_size(std::string_view text) {
  std::size_t size = 0;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size);
  if (parsed.ec != std::errc()) return std::nullopt;
  return size;
}

bool is_chunked(std::string_view head) {
  return equals_ignoring_case(find_header(head, "transfer-encoding").value_or(""), "chunked");
}

tl::unexpected<Error> bad_response(std::string_view head) {
  return fail(Code::kInvalidArgument,
              "the server's answer has no status, Content-Length or chunks: " +
                  std::string(head.substr(0, 200)));
}

/// Asks a silent machine for signs of life, three times within the time.
void probe_silence(const Socket& socket, std::chrono::seconds silence) {
  constexpr int kProbes = 3;
  const int on = 1;
  const int seconds = std::max(static_cast<int>(silence.count()) / (kProbes + 1), 1);
  const auto unacknowledged_ms = static_cast<unsigned>(silence.count()) * 1000;
  setsockopt(socket.fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
             sizeof unacknowledged_ms);
}

}  // namespace

std::optional<std::string_view> find_header(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const std::size_t colon = line.find(':');
    if (colon != line.npos && equals_ignoring_case(line.substr(0, colon), name)) {
      const std::string_view value = line.substr(colon + 1);
      return value.substr(std::min(value.find_first_not_of(' '), value.size()));
    }
    head.remove_prefix(std::min(line.size() + 2, head.size()));
  }
  return std::nullopt;
}

bool closes_connection(std::string_view head) {
  return equals_ignoring_case(find_header(head, "connection").value_or(""), "close");
}

void set_timeout(const Socket& socket, std::chrono::milliseconds timeout) {
  const auto ms = std::max<std::int64_t>(timeout.count(), 1);
  const timeval value{.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

std::string socket_error_text(int error) {
  // What the system says of a timeout speaks of resources, or of progress.
  const bool is_timeout = error == EAGAIN || error == EINPROGRESS;
  return is_timeout ? "it takes too long" : std::strerror(error);
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Result<Endpoint> parse_url(std::string_view url, std::uint16_t default_port) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is no http://HOST:PORT or https://HOST:PORT", url));
  };
  const bool is_tls = url.starts_with("https://");
  if (!is_tls && !url.starts_with("http://")) return wrong();
  std::string_view rest = url.substr(url.find("//") + 2);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Endpoint endpoint{.host = std::string(rest), .port = default_port, .is_tls = is_tls};
  const auto colon = rest.rfind(':');
  if (colon != std::string_view::npos && !rest.ends_with(']')) {
    const std::string_view port = rest.substr(colon + 1);
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
    if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) return wrong();
    endpoint.host = rest.substr(0, colon);
  }
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  if (endpoint.host.empty() || endpoint.host.find('/') != std::string::npos) return wrong();
  return endpoint;
}

Result<Socket> connect_to(const Endpoint& endpoint) {
  QV_TRY(const Addresses addresses, resolve(endpoint));
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    Socket connected(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
    if (connected.fd() < 0) continue;
    set_timeout(connected, endpoint.timeout);
    if (connect(connected.fd(), a->ai_addr, a->ai_addrlen) != 0) continue;
    const int on = 1;
    setsockopt(connected.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (endpoint.silence.count() > 0) probe_silence(connected, endpoint.silence);
    return connected;
  }
  return fail(socket_error("connect to", endpoint));
}

std::string request_text(std::string_view method, std::string_view target, const Endpoint& endpoint,
                         std::string_view api_key, std::string_view body) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}{}{}:{}\r\n", method, target, is_ipv6 ? "[" : "",
                  endpoint.host, is_ipv6 ? "]" : "", endpoint.port);
  if (!api_key.empty()) text += fmt::format("api-key: {}\r\n", api_key);
  if (!body.empty()) {
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  }
  return (text += "\r\n") += body;
}

std::string escape_segment(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

char* ResponseReader::reserve(std::size_t n) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() < end_ + n) {
    buffer_.erase(0, begin_);
    end_ -= begin_;
    begin_ = 0;
    buffer_.resize(std::max(buffer_.size(), end_ + n));
  }
  return buffer_.data() + end_;
}

Result<std::optional<ResponseView>> ResponseReader::next() {
  if (n_decoded_ == 0) chunks_.clear();
  const std::string_view bytes(buffer_.data() + begin_, end_ - begin_);
  const auto head_size = bytes.find("\r\n\r\n");
  if (head_size == std::string_view::npos) return std::optional<ResponseView>();
  const std::string_view head = bytes.substr(0, head_size + 2);
  const std::string_view rest = bytes.substr(head_size + 4);
  const auto status = parse_size(head.substr(std::min<std::size_t>(head.find(' '), head.size())));
  if (!head.starts_with("HTTP/1.") || !status) return bad_response(head);
  ResponseView response{.status = static_cast<int>(*status), .body = {}, .head = head};
  if (is_chunked(head)) {
    QV_TRY(const bool is_complete, take_chunks(rest));
    if (!is_complete) return std::optional<ResponseView>();
    begin_ += head_size + 4 + std::exchange(n_decoded_, 0);
    response.body = chunks_;
    return std::optional(response);
  }
  const auto length = parse_size(find_header(head, "content-length").value_or(""));
  if (!length) return bad_response(head);
  if (rest.size() < *length) return std::optional<ResponseView>();
  begin_ += head_size + 4 + *length;
  response.body = rest.substr(0, *length);
  return std::optional(response);
}

/// Takes what is complete of a chunked body at the start of `bytes`. True once all of it is.
Result<bool> ResponseReader::take_chunks(std::string_view bytes) {
  for (;;) {
    const std::size_t line_end = bytes.find("\r\n", n_decoded_);
    if (line_end == bytes.npos) return false;
    const std::string_view line = bytes.substr(n_decoded_, line_end - n_decoded_);
    if (is_in_trailers_) {
      n_decoded_ = line_end + 2;
      is_in_trailers_ = !line.empty();
      if (!is_in_trailers_) return true;
      continue;
    }
    std::size_t size = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    if (parsed.ec != std::errc() || size > kMaxChunkBytes) return bad_response(line);
    is_in_trailers_ = size == 0;
    if (size > 0 && bytes.size() - line_end < size + 4) return false;
    chunks_ += bytes.substr(line_end + 2, size);
    n_decoded_ = line_end + 2 + (size > 0 ? size + 2 : 0);
  }
}

}  // namespace quiver::client
