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
  if (scope.shard) {
    return fail(Code::kUnimplemented,
                "a shard cannot be restored alone in a cluster; restore a "
                "snapshot of the whole collection");
  }
  if (scope.collection.empty()) {
    return fail(Code::kInvalidArgument, "only collections can be recovered");
  }
  QV_TRY(auto draft, leader_.begin_restore(scope.collection, checksum));
  return std::make_unique<Receiver>(leader_, std::move(draft));
}

Result<> ClusterSnapshots::recover(const SnapshotScope& scope, const std::string& path,
                                   const std::string& checksum) {
  if (scope.shard) return fail(receive(scope, checksum).error());
  QV_TRY(const auto place, local_.open_place(scope, path, checksum));
  // An archive made of a stored snapshot has its checksum, which `open_place` has compared.
  QV_TRY(const auto receiver, receive(scope, checksum));
  QV_TRY(engine::copy_archive(*place, *receiver));
  return receiver->finish();
}

}  // namespace quiver::cluster
