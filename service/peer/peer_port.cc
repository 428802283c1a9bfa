#include "service/peer/peer_port.h"

#include <fmt/format.h>

#include <utility>

#include "service/access/token.h"

namespace quiver::service {
namespace {

constexpr std::size_t kCallThreads = 32;

}  // namespace

PeerPort::PeerPort(cluster::Node& node, std::string secret, std::size_t n_threads)
    : node_(node),
      secret_(std::move(secret)),
      executor_(n_threads, "peer"),
      calls_executor_(kCallThreads, "peer-grpc"),
      parts_executor_(kCallThreads, "peer-parts") {}

void PeerPort::stop() {
  executor_.stop();
  calls_executor_.stop();
  parts_executor_.stop();
}

bool PeerPort::is_admitted(std::string_view secret, const std::string& remote) {
  if (secret_.empty() || access::equals_in_constant_time(secret, secret_)) return true;
  repeated_.log(LogLevel::kWarning, remote,
                fmt::format("peer: a message from {} is refused: its secret is {} (cluster.secret)",
                            remote, secret.empty() ? "missing" : "wrong"));
  return false;
}

Result<std::string> PeerPort::answer(std::string_view verb, std::string_view body) {
  if (verb != api::kForwardedCallVerb) return node_.answer(verb, body);
  api::ForwardedCalls* calls = calls_;
  if (calls == nullptr) return fail(Code::kUnavailable, "the node is starting");
  return calls->answer_forwarded(body);
}

}  // namespace quiver::service
