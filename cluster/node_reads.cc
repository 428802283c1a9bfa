// Reads that show all that was acknowledged before them.
#include <fmt/format.h>

#include <thread>

#include "cluster/node_impl.h"

namespace quiver::cluster {
namespace {

using Clock = std::chrono::steady_clock;

/// The leader tells a node of each committed entry at once.
constexpr std::chrono::milliseconds kLookAgain{1};

}  // namespace

/// The range is linearizable, so its tails include every entry that was acknowledged before. Parts
/// are waited for when they are read, by the node that answers.
Result<> NodeImpl::wait_until_fresh(std::string_view collection, Clock::time_point deadline) {
  const auto answer = ledger_.range({keys_.state(), prefix_end(keys_.state())});
  if (!answer) {
    return fail(Code::kUnavailable,
                fmt::format("the cluster's ledger does not answer: {}", answer.error().message()));
  }
  QV_TRY(const auto state, parse_state(keys_, *answer));
  QV_TRY(check_cluster(state));
  if (adopted_catalog_ < state.catalog_revision()) QV_TRY(refresh());
  if (adopted_catalog_ < state.catalog_revision()) {
    return fail(Code::kUnavailable, "this node has not all collections of the cluster yet");
  }
  const std::string name = state.resolve(collection);
  want_from_now(state, name);
  const auto record = state.collections.find(name);
  if (record == state.collections.end()) return {};  // the read says that there is none
  const std::string& id = record->second.config.cluster_id;
  for (const auto& [shard, tail] : state.tails) {
    if (shard.collection == id) QV_TRY(wait_until_applied(shard, tail.number, deadline));
  }
  return {};
}

Result<> NodeImpl::wait_until_applied(const engine::ShardName& shard, engine::EntryNumber wanted,
                                      Clock::time_point deadline) {
  bool is_told = false;
  while (true) {
    const engine::EntryNumber applied = replicas_.applied(shard);
    if (applied >= wanted) return {};
    if (Clock::now() >= deadline) {
      return fail(Code::kUnavailable,
                  fmt::format("this node has applied {} of {} entries of shard {}/{} in time",
                              applied, wanted, shard.collection, shard.shard));
    }
    if (!std::exchange(is_told, true)) wake();
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace quiver::cluster
