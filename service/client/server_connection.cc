#include "service/client/server_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "payload/json/document.h"

namespace quiver::client {
namespace {

constexpr std::size_t kChunk = 64 << 10;

tl::unexpected<Error> broken(std::string_view what, const Endpoint& endpoint, int error) {
  return fail(Code::kUnavailable, fmt::format("{} {}:{}: {}", what, endpoint.host, endpoint.port,
                                              socket_error_text(error)));
}

std::chrono::milliseconds time_until(std::chrono::steady_clock::time_point deadline) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline -
                                                               std::chrono::steady_clock::now());
}

}  // namespace

Result<HttpResponse> ServerConnection::exchange(std::string_view method, std::string_view target,
                                                std::string_view body,
                                                std::string_view content_type) {
  return exchange_parts(request_head(method, target, body.size(), content_type), body);
}

Result<HttpResponse> ServerConnection::exchange(std::string_view request) {
  return exchange_parts(request, "");
}

Result<HttpResponse> ServerConnection::exchange_parts(std::string_view head,
                                                      std::string_view body) {
  if (!socket_) QV_TRY(connect());
  auto answer = exchange_once(head, body);
  if (!answer) disconnect();
  return answer;
}

Result<> ServerConnection::ensure_connected() {
  if (socket_ && is_closed_by_server()) disconnect();
  return socket_ ? Result<>() : connect();
}

bool ServerConnection::is_closed_by_server() const {
  char ignored = 0;
  const ssize_t n = recv(socket_->fd(), &ignored, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/// Gives the next call of the socket the time that is left.
Result<> ServerConnection::limit_time() {
  if (!deadline_) return {};
  const auto left = time_until(*deadline_);
  if (left.count() <= 0) return broken("no answer from", endpoint_, EAGAIN);
  set_timeout(*socket_, std::min(left, endpoint_.timeout));
  return {};
}

Result<> ServerConnection::connect() {
  Endpoint endpoint = endpoint_;
  if (deadline_) endpoint.timeout = std::min(endpoint.timeout, time_until(*deadline_));
  QV_TRY(Socket connected, connect_to(endpoint));
  set_interruptible(connected.fd());
  socket_.emplace(std::move(connected));
  auto used = use(*socket_);
  if (!used) disconnect();
  return used;
}

Result<> ServerConnection::use(const Socket& connected) {
  if (endpoint_.is_tls) {
    QV_TRY(tls_, TlsSession::connect(connected, endpoint_));
  }
  reader_ = ResponseReader();
  return {};
}

void ServerConnection::disconnect() {
  set_interruptible(-1);
  tls_.reset();
  socket_.reset();
}

void ServerConnection::set_interruptible(int fd) {
  MutexLock lock(interrupt_mutex_);
  interruptible_fd_ = fd;
}

void ServerConnection::interrupt() {
  MutexLock lock(interrupt_mutex_);
  if (interruptible_fd_ >= 0) shutdown(interruptible_fd_, SHUT_RDWR);
}

/// Leaves the body out: it may be large and need not be copied.
std::string ServerConnection::request_head(std::string_view method, std::string_view target,
                                           std::size_t body_bytes,
                                           std::string_view content_type) const {
  std::string head = request_text(method, target, endpoint_, api_key_, "");
  if (body_bytes > 0) {
    head.insert(head.size() - 2, fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n",
                                             content_type, body_bytes));
  }
  return head;
}

Result<HttpResponse> ServerConnection::exchange_once(std::string_view head, std::string_view body) {
  auto sent = send_all(head, body.empty() ? More::kNo : More::kYes);
  if (sent) sent = send_all(body, More::kNo);
  auto answer = receive();  // a server may refuse a large body before all of it was sent
  if (!sent && !answer) return fail(sent.error());
  if (!sent || (answer && closes_connection(answer->head))) disconnect();
  return answer;
}

Result<> ServerConnection::send_all(std::string_view bytes, More more) {
  QV_TRY(limit_time());
  if (tls_) return bytes.empty() ? Result<>() : tls_->send(bytes, more);
  const int flags = more == More::kYes ? MSG_MORE : 0;
  while (!bytes.empty()) {
    const ssize_t n = send(socket_->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | flags);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return broken("cannot send to", endpoint_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<HttpResponse> ServerConnection::receive() {
  while (true) {
    QV_TRY(const auto response, reader_.next());
    if (response) {
      return HttpResponse{response->status, std::string(response->body),
                          std::string(response->head)};
    }
    QV_TRY(const std::size_t n, receive_some(reader_.reserve(kChunk)));
    if (n == 0) return broken("no answer from", endpoint_, ECONNRESET);
    reader_.commit(n);
  }
}

/// Up to `kChunk` bytes; 0 at the end.
Result<std::size_t> ServerConnection::receive_some(char* space) {
  QV_TRY(limit_time());
  if (tls_) return tls_->receive(space, kChunk);
  for (;;) {
    const ssize_t n = recv(socket_->fd(), space, kChunk, 0);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) return broken("no answer from", endpoint_, errno);
  }
}

Result<HttpResponse> fetch(const Endpoint& endpoint, const std::string& request) {
  return ServerConnection(endpoint, "").exchange(request);
}

std::string error_text(const HttpResponse& answer) {
  const auto value = payload::parse_json(answer.body);
  const payload::Value* status = value ? value->find("status") : nullptr;
  const payload::Value* error = status == nullptr ? nullptr : status->find("error");
  const std::string* text = error == nullptr ? nullptr : error->as_string();
  return fmt::format("{} {}", answer.status, text == nullptr ? answer.body : *text);
}

}  // namespace quiver::client
