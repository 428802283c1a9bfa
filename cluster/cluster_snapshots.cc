#include "cluster/cluster_snapshots.h"

#include <utility>

namespace quiver::cluster {

using engine::SnapshotScope;

class ClusterSnapshots::Receiver final : public engine::SnapshotReceiver {
 public:
  Receiver(RestoreLeader& leader, std::unique_ptr<Restores::Draft> draft)
      : leader_(leader), draft_(std::move(draft)) {}
  [[nodiscard]] Result<> write(std::string_view bytes) override { return draft_->write(bytes); }
  [[nodiscard]] Result<> finish() override {
    QV_TRY(draft_->finish());
    return leader_.restore_everywhere(*draft_);
  }

 private:
  RestoreLeader& leader_;
  const std::unique_ptr<Restores::Draft> draft_;
};

Result<std::unique_ptr<engine::SnapshotReceiver>> ClusterSnapshots::receive(
    const SnapshotScope& scope, const std::string& checksum) {
  QV_TRY(const auto here, leader_.scope_here(scope));
  return receive_here(here, checksum);
}

Result<std::unique_ptr<engine::SnapshotReceiver>> ClusterSnapshots::receive_here(
    const SnapshotScope& here, const std::string& checksum) {
  if (here.shard) {
    return fail(Code::kUnimplemented,
                "a shard cannot be restored alone in a cluster, unless the shards of its "
                "collection have nodes of their own; restore a snapshot of the whole collection");
  }
  if (here.collection.empty()) {
    return fail(Code::kInvalidArgument, "only collections can be recovered");
  }
  QV_TRY(auto draft, leader_.begin_restore(here.collection, checksum));
  return std::make_unique<Receiver>(leader_, std::move(draft));
}

Result<> ClusterSnapshots::recover(const SnapshotScope& scope, const std::string& path,
                                   const std::string& checksum) {
  QV_TRY(const auto here, leader_.scope_here(scope));
  if (here.shard) return fail(receive_here(here, checksum).error());
  QV_TRY(const auto place, local_.open_place(here, path, checksum));
  // An archive made of a stored snapshot has its checksum, which `open_place` has compared.
  QV_TRY(const auto receiver, receive_here(here, checksum));
  QV_TRY(engine::copy_archive(*place, *receiver));
  return receiver->finish();
}

}  // namespace quiver::cluster
