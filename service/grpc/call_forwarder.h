// Calls that another node of a cluster answers: changes go whole to the node that leads, reads of a
// collection that is not here to one that has it. Its answer is returned as it is.
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

/// As service::Forwarder, for gRPC: calls go to the peer port of the other node. Thread-safe. Its
/// threads wait for other nodes' answers, one call each.
class CallForwarder {
 public:
  explicit CallForwarder(const api::ClusterOptions& options);

  /// Which node answers: by what the call changes, and the collection that it is about or "".
  struct Target {
    api::Effect effect = api::Effect::kLocal;
    std::string collection;
  };
  /// False: `Target::collection` need not be known for a read.
  [[nodiscard]] bool has_placements() const { return options_.node->has_placements(); }
  [[nodiscard]] bool is_here(const Target& target) const;
  /// Why not, in words.
  [[nodiscard]] std::string describe(const Target& target) const;
  /// Arranges for the answer of another node. Does not block.
  void answer_elsewhere(UnaryCall& call, Target target);

 private:
  using Answer = std::optional<peer::ForwardedAnswer>;

  using Leader = Result<std::optional<cluster::NodeAddress>>;

  [[nodiscard]] Leader leader_for(const Target& target) const;
  void answer_by_other(UnaryCall& call, const Target& target);
  Answer attempt(const Target& target, const std::string& message, std::string& reason);
  Answer send(const cluster::NodeAddress& node, const std::string& message, std::string& reason);
  Answer read_from(const cluster::Holders& holders, const std::string& message,
                   std::string& reason);

  const api::ClusterOptions options_;
  const cluster::NodeId self_;
  Executor executor_;  // the last members: their threads use the others
  Executor readers_;
};

/// The text of field 1, which is `collection_name` in each message about a collection; "": none.
[[nodiscard]] std::string first_text(std::string_view message);

/// Answers a call that another node sent on, as ForwardedCalls does. Waits.
[[nodiscard]] Result<std::string> answer_forwarded(GrpcFront& front, std::string_view call);

}  // namespace quiver::service::rpc
