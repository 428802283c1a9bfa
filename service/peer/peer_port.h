// What answers messages of other nodes, and on which threads.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/observe/log_limit.h"
#include "base/threads/executor.h"
#include "cluster/node.h"
#include "service/api/forwarded_calls.h"

namespace quiver::service {

/// Thread-safe, except `stop`.
class PeerPort {
 public:
  PeerPort(cluster::Node& node, std::string secret, std::size_t n_threads);

  /// Forwarded calls are answered by `calls` from now on.
  void use(api::ForwardedCalls& calls) { calls_ = &calls; }
  /// Waits for the answers that have begun.
  void stop();

  /// Takes the same time for every wrong secret. Logs that one is refused.
  [[nodiscard]] bool is_admitted(std::string_view secret, const std::string& remote);
  /// The threads for messages of this verb.
  [[nodiscard]] Executor& executor(std::string_view verb) {
    if (verb == cluster::kPartCallVerb) return parts_executor_;
    return verb == api::kForwardedCallVerb ? calls_executor_ : executor_;
  }
  [[nodiscard]] Result<std::string> answer(std::string_view verb, std::string_view body);

 private:
  cluster::Node& node_;
  const std::string secret_;
  std::atomic<api::ForwardedCalls*> calls_ = nullptr;
  LogLimit repeated_;
  Executor executor_;
  /// Forwarded calls wait for replication, as those for parts do: they must not take its threads.
  Executor calls_executor_;
  /// Forwarded calls may ask for parts of collections, and these for no other node.
  Executor parts_executor_;
};

}  // namespace quiver::service
