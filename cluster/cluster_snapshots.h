// The snapshots of a node: made and kept here, restored on all nodes of the collection.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/restores.h"
#include "engine/snapshots.h"

namespace quiver::cluster {

/// What a restore needs of the node.
class RestoreLeader {
 public:
  virtual ~RestoreLeader() = default;
  /// What the scope is on a node: a shard with nodes of its own is a collection there.
  /// kUnimplemented for all shards together, kNotFound if there is no such shard.
  [[nodiscard]] virtual Result<engine::SnapshotScope> scope_here(
      const engine::SnapshotScope& scope) const = 0;
  /// kFailedPrecondition, naming the nodes that have it, if the collection is on others only.
  [[nodiscard]] virtual Result<> check_held(const std::string& collection) const = 0;
  /// A draft of an archive that is to become the collection `name`, a name or an alias.
  [[nodiscard]] virtual Result<std::unique_ptr<Restores::Draft>> begin_restore(
      const std::string& name, const std::string& checksum) = 0;
  /// Makes a complete archive the collection on all its nodes: all or nothing.
  [[nodiscard]] virtual Result<> restore_everywhere(const Restores::Draft& draft) = 0;
};

/// Thread-safe. What reads and what makes snapshots goes to `local`.
class ClusterSnapshots final : public engine::Snapshots {
 public:
  /// Both outlive this.
  ClusterSnapshots(engine::Snapshots& local, RestoreLeader& leader)
      : local_(local), leader_(leader) {}

  [[nodiscard]] Result<> check_scope(const engine::SnapshotScope& scope) override {
    QV_TRY(const auto here, leader_.scope_here(scope));
    if (here.shard != scope.shard) return {};  // on whatever nodes it is
    QV_TRY(leader_.check_held(here.collection));
    return local_.check_scope(here);
  }
  [[nodiscard]] Result<engine::SnapshotDescription> create(
      const engine::SnapshotScope& scope) override {
    QV_TRY(const auto here, held_here(scope));
    return local_.create(here);
  }
  [[nodiscard]] Result<engine::SnapshotDescription> complete(const engine::SnapshotScope& scope,
                                                             const std::string& name,
                                                             const Cancel& cancel) override {
    QV_TRY(const auto here, held_here(scope));
    return local_.complete(here, name, cancel);
  }
  [[nodiscard]] Result<std::vector<engine::SnapshotDescription>> list(
      const engine::SnapshotScope& scope) override {
    QV_TRY(const auto here, held_here(scope));
    return local_.list(here);
  }
  [[nodiscard]] Result<> remove(const engine::SnapshotScope& scope,
                                const std::string& name) override {
    QV_TRY(const auto here, held_here(scope));
    return local_.remove(here, name);
  }
  [[nodiscard]] Result<std::unique_ptr<engine::SnapshotReader>> open(
      const engine::SnapshotScope& scope, const std::string& name) override {
    QV_TRY(const auto here, held_here(scope));
    return local_.open(here, name);
  }
  [[nodiscard]] Result<std::unique_ptr<engine::SnapshotReader>> stream(
      const engine::SnapshotScope& scope) override {
    QV_TRY(const auto here, held_here(scope));
    return local_.stream(here);
  }
  /// `path`: of this node. kUnimplemented for a shard, unless it has nodes of its own.
  [[nodiscard]] Result<> recover(const engine::SnapshotScope& scope, const std::string& path,
                                 const std::string& checksum) override;
  [[nodiscard]] Result<std::unique_ptr<engine::SnapshotReceiver>> receive(
      const engine::SnapshotScope& scope, const std::string& checksum) override;
  [[nodiscard]] Result<std::string> folder_of(const engine::SnapshotScope& scope,
                                              const std::string& name) override {
    QV_TRY(const auto here, leader_.scope_here(scope));
    return local_.folder_of(here, name);
  }
  [[nodiscard]] Result<std::vector<std::string>> restore_storage(const std::string&) override {
    return fail(Code::kUnimplemented,
                "a full snapshot cannot be restored in a cluster; restore the "
                "snapshots of its collections");
  }

 private:
  class Receiver;

  [[nodiscard]] Result<engine::SnapshotScope> held_here(const engine::SnapshotScope& scope) const {
    QV_TRY(auto here, leader_.scope_here(scope));
    QV_TRY(leader_.check_held(here.collection));
    return here;
  }

  /// `here`: as `scope_here` says.
  [[nodiscard]] Result<std::unique_ptr<engine::SnapshotReceiver>> receive_here(
      const engine::SnapshotScope& here, const std::string& checksum);

  engine::Snapshots& local_;
  RestoreLeader& leader_;
};

}  // namespace quiver::cluster
