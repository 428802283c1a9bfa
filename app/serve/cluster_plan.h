// Who is who in a cluster, from its settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/config.h"
#include "base/result.h"
#include "cluster/ledger/etcd_process.h"
#include "cluster/node.h"
#include "service/client/http.h"

namespace quiver::app {

struct ClusterPlan {
  std::vector<PeerAddress> peers;
  PeerAddress self;                       ///< one of `peers`
  cluster::NodeAddress address;           ///< of this node, for the others
  bool has_etcd = false;                  ///< this node runs a member of the ledger
  cluster::EtcdProcessOptions etcd;       ///< if so
  std::vector<PeerAddress> ledger_hosts;  ///< peers that run a member of it; empty: it runs already
  std::vector<client::Endpoint> ledger;   ///< members, this node's own first
};

/// Every node makes the same plan of the same `cluster.peers`: the first three run the ledger, or
/// the first one if there are fewer. kInvalidArgument, naming the key, if this node is none of the
/// peers or cannot be reached as its settings say.
[[nodiscard]] Result<ClusterPlan> plan_cluster(const Settings& settings);

}  // namespace quiver::app
