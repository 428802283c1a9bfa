// Copies of collections that a node gets from another one, beside its look at the ledger.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/node_impl.h"

namespace quiver::cluster {
namespace {

/// A node without the collection gets a copy, with its indexes, rather than make it from a longer
/// log.
constexpr engine::EntryNumber kMostReplayed = 200;
constexpr std::chrono::seconds kCopyPause{5};

}  // namespace

Error NodeImpl::own_alone(const std::string& name) {
  return Error(Code::kFailedPrecondition,
               fmt::format("collection `{}` was made on this node alone, and the cluster has "
                           "another of this name",
                           name));
}

/// If this node has nothing of it.
bool NodeImpl::comes_as_copy(const ClusterState& state, const engine::CollectionConfig& config) {
  if (state.needs_copy(config)) return true;
  return std::ranges::any_of(engine::shard_numbers(config), [&](std::uint32_t shard) {
    const auto tail = state.tails.find({config.cluster_id, shard});
    return tail != state.tails.end() && tail->second.number > kMostReplayed;
  });
}

/// Begins it, or says that it is on its way. The copy is as new as the entries that its node had
/// applied. Later ones follow at the next look.
Result<> NodeImpl::copy_collection(const ClusterState& state, const std::string& id,
                                   const std::string& reason) {
  const auto* name = state.name_of(id);
  const auto source = source_of_copy(state, id);
  const auto time = std::chrono::steady_clock::now();
  if (name == nullptr || source == state.alive.end() || local_->snapshots() == nullptr) {
    return fail(Code::kUnavailable, "no node is alive that could send a copy");
  }
  if (is_own_alone(*name)) return fail(own_alone(*name));
  {
    MutexLock lock(mutex_);
    std::erase_if(next_copy_, [&](const auto& item) { return item.second <= time; });
    if (next_copy_.contains(id)) {
      return fail(Code::kUnavailable, fmt::format("collection `{}` is soon copied again", *name));
    }
  }
  const auto copy = [this, id, name = *name, node = source->first, peer = source->second.peer] {
    const auto copied = guarded([&] { return receive_collection(name, id, peer); });
    if (copied) log_info("collection `{}` was copied from node {}", name, node);
    if (!copied) {
      log_warning("collection `{}` is not copied from node {}: {}", name, node,
                  copied.error().message());
    }
    {
      MutexLock lock(mutex_);
      next_copy_[id] = std::chrono::steady_clock::now() + kCopyPause;
    }
    if (copied) wake();
  };
  if (copying_.start(id, copy)) {
    ++n_copies_;
    log_info("collection `{}` is copied from node {}: {}", *name, source->first, reason);
  }
  return fail(Code::kUnavailable, fmt::format("this node gets a copy of collection `{}`", *name));
}

/// The leader, or, if this node leads without having it, the others in turn.
std::map<NodeId, NodeAddress>::const_iterator NodeImpl::source_of_copy(
    const ClusterState& state, const std::string& id) const {
  const GroupState& group = state.group_of(id);
  if (group.leader != self_) return state.alive.find(group.leader);
  std::vector<std::map<NodeId, NodeAddress>::const_iterator> others;
  for (auto item = state.alive.begin(); item != state.alive.end(); ++item) {
    if (item->first != self_ && group.set->is_active(item->first)) others.push_back(item);
  }
  return others.empty() ? state.alive.end() : others[n_copies_ % others.size()];
}

/// A copy of what the group has is on its way here.
bool NodeImpl::is_copying(const ClusterState& state, const std::string& id) const {
  return std::ranges::any_of(tails_of(state, id), [this](const auto& tail) {
    return copying_.runs(tail.first.collection);
  });
}

Result<> NodeImpl::receive_collection(const std::string& name, const std::string& id,
                                      const std::string& peer) {
  const auto check = [this] { return check_not_stopping(); };
  QV_TRY(const auto copy, fetch_copy(peers_, peer, name, id, *local_->snapshots(), check));
  MutexLock lock(catalog_mutex_);
  QV_TRY(const auto answer, ledger_.range({keys_.state(), prefix_end(keys_.state())}));
  QV_TRY(const auto now, parse_state(keys_, answer));
  const auto* still = now.name_of(id);
  if (still == nullptr || *still != name) {
    return fail(Code::kUnavailable, "it was replaced meanwhile");
  }
  if (leads(now.is_placed(id) ? id : "")) {
    return fail(Code::kUnavailable, "this node leads it by now");
  }
  return copy->finish();  // `take_over` waits for that
}

}  // namespace quiver::cluster
