#include "service/client/connection_pool.h"

#include <fmt/format.h>

#include <utility>

namespace quiver::client {
namespace {

/// Of one server. Calls beyond them open connections that are closed afterwards.
constexpr std::size_t kMaxIdleConnections = 64;
/// Less than the time after which servers close silent connections (75 s by default).
constexpr auto kMaxIdleTime = std::chrono::seconds(30);

std::string key_of(const Endpoint& server) {
  return fmt::format("{}{}:{}", server.is_tls ? "tls " : "", server.host, server.port);
}

}  // namespace

Result<HttpResponse> ConnectionPool::exchange(const Endpoint& server, std::string_view head,
                                              std::string_view body) {
  const std::string key = key_of(server);
  Connection connection = take(server, key);
  connection->set_deadline(Clock::now() + limits_.connect);
  QV_TRY(connection->ensure_connected());
  connection->set_deadline(Clock::now() + limits_.answer);
  auto answer = connection->exchange_parts(head, body);
  if (!answer) {
    return fail(Code::kDeadlineExceeded,
                fmt::format("{}: the outcome is not known", answer.error().message()));
  }
  give_back(key, std::move(connection));
  return answer;
}

ConnectionPool::Connection ConnectionPool::take(const Endpoint& server, const std::string& key) {
  const auto now = Clock::now();
  std::vector<Idle> expired;  // closed without the lock
  MutexLock lock(mutex_);
  auto& idle = idle_[key];
  if (!idle.empty() && now - idle.back().since > kMaxIdleTime) expired.swap(idle);
  if (idle.empty()) {
    Endpoint endpoint = server;
    endpoint.timeout = limits_.answer;
    return std::make_unique<ServerConnection>(std::move(endpoint), "");
  }
  Connection connection = std::move(idle.back().connection);
  idle.pop_back();
  return connection;
}

void ConnectionPool::give_back(const std::string& key, Connection connection) {
  MutexLock lock(mutex_);
  auto& idle = idle_[key];
  if (idle.size() < kMaxIdleConnections) idle.push_back({std::move(connection), Clock::now()});
}

}  // namespace quiver::client
