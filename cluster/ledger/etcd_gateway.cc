#include "cluster/ledger/etcd_gateway.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/ledger/etcd_json.h"

namespace quiver::cluster::etcd {
namespace {

/// Of one member. Calls beyond them open connections that are closed afterwards.
constexpr std::size_t kMaxIdleConnections = 8;

/// Whether the next member may be asked.
bool may_go_on(const Error& error, Repeat repeat) {
  return error.code() == Code::kUnavailable ||
         (error.code() == Code::kDeadlineExceeded && repeat == Repeat::kYes);
}

/// Of a request that was sent and not answered.
tl::unexpected<Error> no_answer(const Error& error, Repeat repeat) {
  if (repeat == Repeat::kYes) return fail(Code::kUnavailable, error.message());
  return fail(error.code(), fmt::format("{}: the outcome is not known", error.message()));
}

}  // namespace

Gateway::Gateway(std::vector<client::Endpoint> members, std::chrono::milliseconds timeout)
    : timeout_(timeout), n_members_(members.size()) {
  for (client::Endpoint& endpoint : members) members_.push_back({std::move(endpoint)});
}

Result<payload::Value> Gateway::post(std::string_view path, std::string_view body, Repeat repeat) {
  const Time end = std::chrono::steady_clock::now() + timeout_;
  const std::size_t first = preferred_;
  Result<payload::Value> answer = fail(Code::kUnavailable, "no members of the ledger are known");
  for (std::size_t i = 0; i < n_members_; ++i) {
    const std::size_t member = (first + i) % n_members_;
    answer = ask(member, path, body, limits(end, n_members_ - i, repeat));
    const bool is_silent = !answer && may_go_on(answer.error(), Repeat::kYes);
    preferred_ = is_silent ? (member + 1) % n_members_ : member;
    if (answer || !may_go_on(answer.error(), repeat)) break;
  }
  if (answer || answer.error().code() != Code::kDeadlineExceeded) return answer;
  return no_answer(answer.error(), repeat);
}

/// A member that hangs may use its share of the time, so that the others get theirs. A request that
/// cannot be repeated may wait for its answer until the end.
Gateway::Limits Gateway::limits(Time end, std::size_t n_left, Repeat repeat) const {
  const Time now = std::chrono::steady_clock::now();
  const Time share = now + (end - now) / static_cast<std::int64_t>(n_left);
  return {.connected = share, .answered = repeat == Repeat::kYes ? share : end};
}

Result<payload::Value> Gateway::ask(std::size_t member, std::string_view path,
                                    std::string_view body, Limits limits) {
  Connection connection = take(member);
  connection->set_deadline(limits.connected);
  QV_TRY(connection->ensure_connected());
  connection->set_deadline(limits.answered);
  const auto answer = connection->exchange("POST", path, body);
  if (!answer) return fail(Code::kDeadlineExceeded, answer.error().message());
  give_back(member, std::move(connection));
  return read_answer(answer->status, answer->body);
}

Gateway::Connection Gateway::take(std::size_t member) {
  MutexLock lock(mutex_);
  std::vector<Connection>& idle = members_[member].idle;
  if (idle.empty()) {
    return std::make_unique<client::ServerConnection>(members_[member].endpoint, "");
  }
  Connection connection = std::move(idle.back());
  idle.pop_back();
  return connection;
}

void Gateway::give_back(std::size_t member, Connection connection) {
  MutexLock lock(mutex_);
  std::vector<Connection>& idle = members_[member].idle;
  if (idle.size() < kMaxIdleConnections) idle.push_back(std::move(connection));
}

}  // namespace quiver::cluster::etcd
