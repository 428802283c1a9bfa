#include "cluster/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::EntryNumber;
using engine::ShardName;

constexpr std::int64_t kHeadersAtOnce = 500;
/// Entries that wait for the apply lane together are applied as one group.
constexpr std::size_t kQueuedAtOnce = 64;
constexpr std::chrono::seconds kApplyPatience{30};
/// A node that is far behind does other things, too.
constexpr std::chrono::milliseconds kApplySlice{500};

}  // namespace

class Replicas::Pending {
 public:
  /// The outcome arrives later, from another thread, maybe after this is gone.
  [[nodiscard]] std::function<void(Result<>)> add() {
    MutexLock lock(shared_->mutex);
    ++shared_->n_open;
    return [shared = shared_](const Result<>& outcome) {
      MutexLock done(shared->mutex);
      if (!outcome && shared->outcome) shared->outcome = outcome;
      --shared->n_open;
      shared->changed.notify_all();
    };
  }
  /// Waits until fewer than `n` are open. The first error so far.
  [[nodiscard]] Result<> wait_below(std::size_t n) {
    const auto deadline = std::chrono::steady_clock::now() + kApplyPatience;
    MutexLock lock(shared_->mutex);
    while (shared_->n_open >= n) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) {
        return fail(Code::kUnavailable, "entries of the cluster are not applied in time");
      }
      shared_->changed.wait_for(shared_->mutex, left);
    }
    return shared_->outcome;
  }

 private:
  struct Shared {
    Mutex mutex;
    CondVar changed;
    std::size_t n_open = 0;
    Result<> outcome;
  };
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

Result<std::shared_ptr<engine::Replica>> Replicas::find(const ShardName& shard) const {
  const auto state = state_.load();
  const auto* name = state == nullptr ? nullptr : state->name_of(shard.collection);
  if (name == nullptr) {
    return fail(Code::kNotFound,
                fmt::format("this node does not know collection {}", shard.collection));
  }
  QV_TRY(const auto collection, local_->collection(*name));
  if (collection->config()->cluster_id != shard.collection) {
    return fail(Code::kNotFound, fmt::format("collection `{}` is another one here", *name));
  }
  return collection->replica(shard.shard);
}

EntryNumber Replicas::applied(const ShardName& shard) const {
  const auto replica = find(shard);
  return replica ? (*replica)->applied() : 0;
}

Result<> Replicas::apply_up_to(const ShardName& shard, const EntryId& target) {
  MutexLock lock(mutex_of(shard));
  QV_TRY(const auto replica, find(shard));
  Pending pending;
  const auto end = std::chrono::steady_clock::now() + kApplySlice;
  const EntryNumber begin = replica->applied() + 1;
  EntryNumber next = begin;
  while (next <= target.number) {
    QV_TRY(const auto found, headers(shard, next, target));
    for (const auto& header : found) {
      if (header.id.number != begin && std::chrono::steady_clock::now() > end) {
        QV_TRY(pending.wait_below(1));
        return fail(Code::kUnavailable, fmt::format("shard {}/{} is catching up with the ledger",
                                                    shard.collection, shard.shard));
      }
      QV_TRY(const auto bytes, body(shard, *replica, header));
      QV_TRY(pending.wait_below(kQueuedAtOnce));
      auto queued = replica->apply(header.id.number, bytes, pending.add());
      if (!queued && queued.error().code() == Code::kResourceExhausted) {
        return fail(Code::kUnavailable, "the queue of updates is full");
      }
      QV_TRY(std::move(queued));
    }
    next = found.back().id.number + 1;
  }
  return pending.wait_below(1);
}

Result<std::vector<Header>> Replicas::headers(const ShardName& shard, EntryNumber from,
                                              const EntryId& target) const {
  const auto state = state_.load();
  const auto base = state->bases.find(shard);
  const bool was_trimmed = base != state->bases.end() && from < base->second;
  if (from == target.number && !was_trimmed) {
    Header header;
    header.id = target;
    return std::vector<Header>{header};
  }
  QV_TRY(const auto answer,
         ledger_.range(
             {keys_.header(shard, from), keys_.header(shard, target.number + 1), kHeadersAtOnce}));
  std::vector<Header> found;
  for (const auto& item : answer.items) {
    QV_TRY(auto header, decode_header(item.key, item.value));
    if (header.id.number != from + found.size()) break;
    found.push_back(std::move(header));
  }
  if (!found.empty() && !was_trimmed) return found;
  return fail(
      Code::kOutOfRange,
      fmt::format("entry {} of shard {}/{} is not in the ledger any more: this node was away "
                  "too long and needs a copy of the collection",
                  from, shard.collection, shard.shard));
}

Result<std::string> Replicas::body(const ShardName& shard, engine::Replica& replica,
                                   const Header& header) const {
  const auto here = replica.body(header.id);
  if (here && *here) return **here;
  QV_TRY(auto fetched, fetch(shard, header));
  QV_TRY(replica.store_body(header.id, fetched));
  return fetched;
}

Result<std::string> Replicas::fetch(const ShardName& shard, const Header& header) const {
  std::string question;
  append_entry(shard, header.id, {}, question);
  const auto state = state_.load();
  std::vector<std::pair<bool, std::string>> nodes;  // holders first
  for (const auto& [id, address] : state->alive) {
    if (id == self_) continue;
    nodes.emplace_back(std::ranges::find(header.holders, id) == header.holders.end(), address.peer);
  }
  std::ranges::sort(nodes);
  Error last(Code::kUnavailable, "no other node is alive");
  for (const auto& [is_other, peer] : nodes) {
    auto answer = peers_.call(peer, kGetBody, question);
    if (answer) return answer;
    last = answer.error();
  }
  return fail(Code::kUnavailable,
              fmt::format("entry {} of shard {}/{} cannot be had: {}", header.id.number,
                          shard.collection, shard.shard, last.message()));
}

Mutex& Replicas::mutex_of(const ShardName& shard) {
  MutexLock lock(mutex_);
  auto& mutex = shards_[shard];
  if (mutex == nullptr) mutex = std::make_unique<Mutex>();
  return *mutex;
}

}  // namespace quiver::cluster
