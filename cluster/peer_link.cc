#include "cluster/peer_link.h"

#include <chrono>
#include <utility>

#include "base/observe/failure.h"
#include "cluster/messages.h"

namespace quiver::cluster {
namespace {

/// A message of bodies has about this much.
constexpr std::size_t kBytesAtOnce = std::size_t{8} << 20;
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

PeerLink::PeerLink(NodeId peer, NodeAddress address, PeerClient& client, Owner& owner)
    : peer_(peer),
      address_(std::move(address)),
      client_(client),
      owner_(owner),
      body_thread_([this] { send_bodies(); }),
      notice_thread_([this] { send_notices(); }) {}

PeerLink::~PeerLink() {
  stop();
  body_thread_.join();
  notice_thread_.join();
}

void PeerLink::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void PeerLink::store(const engine::ShardName& shard, std::shared_ptr<const engine::Entry> entry) {
  MutexLock lock(mutex_);
  bodies_.push_back({shard, std::move(entry)});
  changed_.notify_all();
}

void PeerLink::tell_committed(const engine::ShardName& shard, const engine::EntryId& id) {
  MutexLock lock(mutex_);
  auto& newest = notices_[shard];
  if (newest.number < id.number) newest = id;
  changed_.notify_all();
}

bool PeerLink::is_stopped() {
  MutexLock lock(mutex_);
  return stopped_;
}

std::vector<PeerLink::Body> PeerLink::next_bodies() {
  std::vector<Body> taken;
  std::size_t n_bytes = 0;
  MutexLock lock(mutex_);
  while (bodies_.empty() && !stopped_) changed_.wait(mutex_);
  while (!stopped_ && !bodies_.empty() && n_bytes < kBytesAtOnce) {
    n_bytes += bodies_.front().entry->body.size();
    taken.push_back(std::move(bodies_.front()));
    bodies_.pop_front();
  }
  return taken;
}

std::map<engine::ShardName, engine::EntryId> PeerLink::next_notices() {
  MutexLock lock(mutex_);
  while (notices_.empty() && !stopped_) changed_.wait(mutex_);
  if (stopped_) return {};
  return std::exchange(notices_, {});
}

void PeerLink::put_back(std::vector<Body> bodies) {
  MutexLock lock(mutex_);
  for (auto body = bodies.rbegin(); body != bodies.rend(); ++body) {
    bodies_.push_front(std::move(*body));
  }
}

void PeerLink::put_back(const std::map<engine::ShardName, engine::EntryId>& notices) {
  MutexLock lock(mutex_);
  for (const auto& [shard, id] : notices) {
    auto& newest = notices_[shard];
    if (newest.number < id.number) newest = id;
  }
}

void PeerLink::pause() {
  const auto end = std::chrono::steady_clock::now() + kPause;
  MutexLock lock(mutex_);
  while (!stopped_ && std::chrono::steady_clock::now() < end) changed_.wait_for(mutex_, kPause);
}

void PeerLink::send_bodies() {
  while (true) {
    auto bodies = next_bodies();
    if (bodies.empty()) return;
    std::erase_if(
        bodies, [this](const Body& body) { return !owner_.is_wanted(body.shard, body.entry->id); });
    if (bodies.empty()) continue;
    std::string message;
    for (const auto& [shard, entry] : bodies) append_entry(shard, entry->id, entry->body, message);
    const auto answer = guarded([&] { return client_.call(address_.peer, kStoreBodies, message); });
    const auto stored =
        answer ? read_numbers(*answer) : Result<std::vector<std::uint64_t>>(fail(answer.error()));
    if (is_stopped()) return;  // the node may not be a member any more
    owner_.on_reachable(peer_, answer.has_value());
    std::vector<Body> again;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (stored && i < stored->size() && (*stored)[i] != 0) {
        owner_.on_stored(peer_, bodies[i].shard, bodies[i].entry->id);
      } else {
        again.push_back(std::move(bodies[i]));
      }
    }
    if (again.empty()) continue;
    put_back(std::move(again));
    pause();
  }
}

void PeerLink::send_notices() {
  while (true) {
    auto notices = next_notices();
    if (notices.empty()) return;
    std::erase_if(notices, [this](const auto& notice) { return !owner_.is_known(notice.first); });
    if (notices.empty()) continue;
    std::string message;
    for (const auto& [shard, id] : notices) append_entry(shard, id, {}, message);
    const auto answer =
        guarded([&] { return client_.call(address_.peer, kApplyCommitted, message); });
    const auto applied =
        answer ? read_numbers(*answer) : Result<std::vector<std::uint64_t>>(fail(answer.error()));
    if (is_stopped()) return;
    owner_.on_reachable(peer_, answer.has_value());
    bool is_done = applied && applied->size() == notices.size();
    if (is_done) {
      std::size_t i = 0;
      for (const auto& [shard, id] : notices) {
        owner_.on_applied(peer_, shard, (*applied)[i]);
        is_done = (*applied)[i++] >= id.number && is_done;
      }
    }
    if (is_done) continue;
    put_back(notices);
    pause();
  }
}

}  // namespace quiver::cluster
