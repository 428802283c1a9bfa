// Requests that another node of a cluster answers: changes go whole to the node that leads, reads
// of a collection that is not here to one that has it. Its answer is returned as it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/threads/executor.h"
#include "cluster/node.h"
#include "service/api/effect.h"
#include "service/api/options.h"
#include "service/client/connection_pool.h"
#include "service/http/exchange/exchange.h"

namespace quiver::service {

/// Thread-safe. Its threads wait for other nodes' answers, one request each.
///
/// A request is sent on once: a node that gets it from another and does not lead refuses it, and
/// the first node looks for the leader again. A request that reached no leader is tried again, for
/// `leader_patience`; one whose connection broke after it was sent is not, as it may be done. A
/// read is: by the next node that has the collection, at once.
class Forwarder {
 public:
  /// Answers a request on this node. A read waits until it is as fresh as the request wants.
  using AnswerHere = std::function<Decoded<Answer>(Exchange&)>;

  Forwarder(const api::ClusterOptions& options, AnswerHere answer_here);

  /// Answers the request if it belongs to another node; nullopt: it belongs to this one. 503 if
  /// the leader, or a node with the collection, is not known or not reached. Does not block.
  [[nodiscard]] Decoded<std::optional<Answer>> answer_elsewhere(Exchange& exchange);
  /// Seconds since the ledger was last heard, if it is more than the lease; else 0. Looks at the
  /// node at most a few times a second.
  [[nodiscard]] double stale_s();

 private:
  /// nullopt: nothing was done, for a reason that may pass.
  using Attempt = std::optional<Decoded<Answer>>;

  using Leader = Result<std::optional<cluster::NodeAddress>>;

  [[nodiscard]] Result<client::Endpoint> endpoint_of(const cluster::NodeAddress& node) const;
  [[nodiscard]] Leader leader_for(const Exchange& exchange) const;
  Decoded<std::optional<Answer>> change_elsewhere(Exchange& exchange);
  Decoded<std::optional<Answer>> read_elsewhere(Exchange& exchange);
  /// Of a request that another node has sent here in vain.
  Decoded<Answer> refuse_forwarded(Exchange& exchange, std::string text) const;
  Decoded<Answer> answer_by_leader(Exchange& exchange);
  Decoded<Answer> answer_by_holder(Exchange& exchange);
  Attempt attempt_change(Exchange& exchange, std::string& reason);
  Attempt attempt_read(Exchange& exchange, std::string& reason);
  /// What changes nothing on any node, whoever answers first.
  Attempt read_from(const cluster::Holders& holders, Exchange& exchange, std::string& reason);
  Attempt send(Exchange& exchange, const cluster::NodeAddress& node, std::string& reason);

  const api::ClusterOptions options_;
  const AnswerHere answer_here_;
  const std::string self_;                                     ///< id of this node
  const std::shared_ptr<client::ConnectionPool> connections_;  ///< of late answers, too
  std::atomic<std::int64_t> look_again_at_ = 0;                ///< of the steady clock
  std::atomic<double> stale_s_ = 0;
  // The last members: their threads use the others. Reads do not wait behind changes that wait for
  // a leader.
  Executor executor_;
  Executor readers_;
};

}  // namespace quiver::service
