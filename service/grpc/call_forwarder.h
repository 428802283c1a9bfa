// Changes in a cluster: sent whole to the node that leads, whose answer is returned as it is.
#pragma once

#include <optional>
#include <string>

#include "base/threads/executor.h"
#include "cluster/node.h"
#include "proto/peer.pb.h"
#include "service/api/effect.h"
#include "service/api/options.h"

namespace quiver::service::rpc {

class GrpcFront;
class UnaryCall;

/// As service::Forwarder, for gRPC: calls go to the peer port of the leader. Thread-safe. Its
/// threads wait for the leader's answers, one call each.
class CallForwarder {
 public:
  explicit CallForwarder(const api::ClusterOptions& options);

  [[nodiscard]] bool leads() const;
  /// Which node leads, in words.
  [[nodiscard]] std::string describe_leader() const;
  /// Arranges for the answer of the leader. Does not block.
  void answer_elsewhere(UnaryCall& call);

 private:
  using Answer = std::optional<peer::ForwardedAnswer>;

  void answer_by_leader(UnaryCall& call);
  Answer send(const cluster::NodeAddress& leader, const std::string& message, std::string& reason);

  const api::ClusterOptions options_;
  const cluster::NodeId self_;
  Executor executor_;  // the last member: its threads use the others
};

/// Answers a call that another node sent on, as ForwardedCalls does. Waits.
[[nodiscard]] Result<std::string> answer_forwarded(GrpcFront& front, std::string_view call);

}  // namespace quiver::service::rpc
