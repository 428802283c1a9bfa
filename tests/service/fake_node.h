// A node of a cluster that says and answers what a test wants.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "cluster/node.h"
#include "tests/service/fake_database.h"

namespace quiver::service {

/// Thread-safe, except `on_answer`, which is set before the first request.
class FakeNode final : public cluster::Node {
 public:
  explicit FakeNode(cluster::NodeId id) { view_.self = id; }

  void lead() { set_leader(std::optional<cluster::NodeAddress>()); }
  void follow(const std::string& http, const std::string& peer = "127.0.0.1:1") {
    set_leader(std::optional(cluster::NodeAddress{.peer = peer, .http = http}));
  }
  void know_no_leader() { set_leader(fail(Code::kUnavailable, "nobody leads")); }
  void set_view(cluster::NodeView view) {
    MutexLock lock(mutex_);
    view_ = std::move(view);
  }

  /// Of the collection `c`; nullopt: it is on all nodes.
  void set_holders(std::optional<cluster::Holders> holders) {
    MutexLock lock(mutex_);
    holders_ = std::move(holders);
  }
  /// Of all collections; nullopt: the node that leads the cluster.
  void set_leader_of_collections(std::optional<cluster::NodeAddress> leader) {
    MutexLock lock(mutex_);
    leader_of_collections_ = std::move(leader);
  }

  bool has_placements() const override {
    MutexLock lock(mutex_);
    return holders_.has_value();
  }
  std::optional<cluster::Holders> holders(std::string_view collection) const override {
    MutexLock lock(mutex_);
    return collection == "c" ? holders_ : std::nullopt;
  }
  Result<std::optional<cluster::NodeAddress>> leader_of(std::string_view) const override {
    MutexLock lock(mutex_);
    return leader_of_collections_ ? leader_of_collections_ : leader_;
  }
  Result<std::optional<cluster::NodeAddress>> leader() const override {
    MutexLock lock(mutex_);
    return leader_;
  }
  cluster::NodeView view() const override {
    MutexLock lock(mutex_);
    return view_;
  }
  Result<> wait_until_fresh(std::string_view collection,
                            std::chrono::steady_clock::time_point) override {
    return on_fresh_read ? on_fresh_read(collection) : Result<>();
  }
  Result<> drain(cluster::NodeId node) override { return change("drain", node); }
  Result<> end_drain(cluster::NodeId node) override { return change("end drain", node); }
  Result<> remove(cluster::NodeId node, cluster::Removal removal) override {
    return change(removal == cluster::Removal::kForced ? "force out" : "remove", node);
  }
  engine::Replication& replication() override { std::abort(); }
  Result<> start(engine::Database&) override { return {}; }
  engine::Database& database() override { return local; }
  Result<std::string> answer(std::string_view verb, std::string_view body) override {
    return on_answer(verb, body);
  }
  void stop() override {}

  FakeDatabase local;
  std::function<Result<>(std::string_view collection)> on_fresh_read;
  std::function<Result<std::string>(std::string_view verb, std::string_view body)> on_answer;
  std::function<Result<>(std::string_view change, cluster::NodeId node)> on_change;

 private:
  Result<> change(std::string_view what, cluster::NodeId node) {
    return on_change ? on_change(what, node) : Result<>();
  }
  void set_leader(Result<std::optional<cluster::NodeAddress>> leader) {
    MutexLock lock(mutex_);
    leader_ = std::move(leader);
  }

  mutable Mutex mutex_;
  Result<std::optional<cluster::NodeAddress>> leader_ QV_GUARDED_BY(mutex_) =
      std::optional<cluster::NodeAddress>();
  std::optional<cluster::Holders> holders_ QV_GUARDED_BY(mutex_);
  std::optional<cluster::NodeAddress> leader_of_collections_ QV_GUARDED_BY(mutex_);
  cluster::NodeView view_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::service
