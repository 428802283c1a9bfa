// The parts that make a server a node of a cluster.
#pragma once

#include <memory>

#include "app/serve/cluster_plan.h"
#include "base/observe/metrics.h"
#include "cluster/ledger/etcd_ledger.h"
#include "cluster/ledger/etcd_process.h"
#include "cluster/node.h"
#include "service/peer/peer_client.h"
#include "service/peer/peer_server.h"
#include "service/server.h"

namespace quiver::app {

/// Started before the database: the ledger, the node. With it: the port for other nodes. They end
/// in the order of `stop_node`, `stop_peers`, destruction; the database closes in between.
class ClusterNode {
 public:
  /// Starts etcd if it is ours, and makes the node.
  [[nodiscard]] static Result<std::unique_ptr<ClusterNode>> start(const Settings& settings);
  ~ClusterNode();

  [[nodiscard]] engine::Replication& replication() { return node_->replication(); }
  /// Tells the server that it is a node.
  void add_to(service::ServerOptions& options);
  /// Takes part in the cluster. `local` and `metrics` outlive the node's work.
  [[nodiscard]] Result<> join(engine::Database& local, MetricsRegistry& metrics);
  /// The database that a server of this node serves. Once joined.
  [[nodiscard]] engine::Database& database() { return node_->database(); }
  /// `server` answers calls that other nodes send on. It outlives `stop_peers`.
  void use(service::Server& server) { peer_server_->use(server); }

  /// Gives up leadership, ends replication.
  void stop_node() { node_->stop(); }
  /// kDeadlineExceeded as of Server::stop.
  [[nodiscard]] Result<> stop_peers();

 private:
  ClusterNode(const Settings& settings, ClusterPlan plan);
  /// An error unless all nodes that run the ledger answer that they belong to no cluster yet, and
  /// no other node that answers belongs to one. A member of etcd that lost its data must not found
  /// the ledger anew: it would outvote members that have theirs.
  [[nodiscard]] Result<> may_found_ledger();

  const ClusterSettings settings_;
  const std::string data_dir_;
  const std::size_t max_body_bytes_;  ///< of clients' requests
  const ClusterPlan plan_;
  service::HttpPeerClient peers_;
  std::unique_ptr<cluster::EtcdProcess> etcd_;  ///< null: others run the ledger
  std::unique_ptr<cluster::EtcdLedger> ledger_;
  /// Calls of gRPC may take long.
  service::HttpPeerClient patient_peers_;
  std::unique_ptr<cluster::Node> node_;
  std::unique_ptr<service::PeerServer> peer_server_;
};

/// Adds the metrics of the cluster. Thread-safe.
void collect_cluster_metrics(const cluster::NodeView& view, MetricsText& text);

}  // namespace quiver::app
