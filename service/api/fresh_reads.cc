#include "service/api/fresh_reads.h"

#include <algorithm>
#include <chrono>

#include "cluster/node.h"
#include "service/api/runtime.h"

namespace quiver::service::api {

bool may_be_behind(const Call& call) { return call.runtime().options().cluster.node != nullptr; }

Result<> wait_until_fresh(Call& call, std::string_view collection, std::optional<double> seconds) {
  using Clock = std::chrono::steady_clock;
  const ClusterOptions& cluster = call.runtime().options().cluster;
  if (cluster.node == nullptr) return {};
  const std::chrono::duration<double> most = cluster.leader_patience;
  const auto patience =
      std::chrono::duration<double>(std::min(seconds.value_or(most.count()), most.count()));
  return cluster.node->wait_until_fresh(
      collection, Clock::now() + std::chrono::duration_cast<Clock::duration>(patience));
}

}  // namespace quiver::service::api
