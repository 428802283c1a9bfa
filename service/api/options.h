// What an operator sets for all transports.
#pragma once

#include <chrono>
#include <string>

#include "engine/model/config.h"
#include "service/access/audit_log.h"
#include "service/access/keys.h"
#include "service/tracing/options.h"

namespace quiver::gpu {
class Devices;
}
namespace quiver::cluster {
class Node;
class PeerClient;
}  // namespace quiver::cluster

namespace quiver::service {
class PeerPort;
}

namespace quiver::service::api {

/// The name and version that the server reports.
struct Identity {
  std::string name = "quiver";
  std::string title = "quiver - vector search engine";
  std::string version = "0.1.0";
  std::string commit;  ///< 40 hex digits; empty: not reported
};

/// The cluster that a server belongs to. What is pointed to outlives the server.
struct ClusterOptions {
  cluster::Node* node = nullptr;         ///< nullptr: the server is alone
  cluster::PeerClient* peers = nullptr;  ///< takes calls of gRPC to the leader
  std::string ca_file;                   ///< who signs other nodes' certificates; "": the system's
  std::chrono::seconds lease{3};         ///< what is staler is marked
  /// How long a change waits for a leader.
  std::chrono::milliseconds leader_patience{5000};
};

struct Options : access::KeyOptions {
  double query_timeout_s = 60;  ///< for reads whose caller sets no timeout
  /// Longest wait of a request for a thread, in ms, unless ten requests take longer; more is
  /// refused. 0: any wait is allowed.
  double max_wait_ms = 0;
  std::string metrics_prefix;  ///< precedes the name of every metric
  access::AuditOptions audit;
  tracing::TracingOptions tracing;
  bool recovers_from_urls = true;    ///< snapshots may be fetched over HTTP
  std::string snapshot_url_hosts;    ///< besides this machine; between commas, "*": all
  engine::CreationOptions creation;  ///< defaults of new collections
  /// JSON object: members of `strict_mode_config` that new collections get if their creator does
  /// not name them; "": none.
  std::string strict_mode;
  Identity identity;
  const gpu::Devices* devices = nullptr;  ///< reported; outlives the server; nullptr: none
  ClusterOptions cluster;
  PeerPort* peer_port = nullptr;  ///< of a server for other nodes alone; outlives its requests
  std::string data_dir;  ///< where settings that are changed at run time are kept; empty: nowhere
};

}  // namespace quiver::service::api
