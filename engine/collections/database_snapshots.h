// Snapshots of the collections of a database: docs/snapshots.md, docs/decisions/0035.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "engine/backup/manifest.h"
#include "engine/backup/shelf.h"
#include "engine/collections/catalog_gate.h"
#include "engine/collections/collection_table.h"
#include "engine/shard/shard_context.h"
#include "engine/snapshots.h"

namespace quiver::engine {

/// Thread-safe after `start`. Recovery puts files into a reserved directory of the catalog, which
/// the next start removes unless the last step, one change of the catalog, was made.
class DatabaseSnapshots final : public Snapshots {
 public:
  /// All outlive this.
  DatabaseSnapshots(std::string snapshots_dir, const std::string& data_dir, CatalogGate& gate,
                    CollectionTable& collections, const ShardContext& context, Executor& readers);

  Result<> start() { return shelf_.start(); }
  /// Ends what runs, which takes milliseconds.
  void close() { closing_.cancel(); }

  [[nodiscard]] Result<> check_scope(const SnapshotScope& scope) override;
  [[nodiscard]] Result<SnapshotDescription> create(const SnapshotScope& scope) override;
  [[nodiscard]] Result<SnapshotDescription> complete(const SnapshotScope& scope,
                                                     const std::string& name,
                                                     const Cancel& cancel) override;
  [[nodiscard]] Result<std::vector<SnapshotDescription>> list(const SnapshotScope& scope) override;
  [[nodiscard]] Result<> remove(const SnapshotScope& scope, const std::string& name) override;
  [[nodiscard]] Result<std::unique_ptr<SnapshotReader>> open(const SnapshotScope& scope,
                                                             const std::string& name) override;
  [[nodiscard]] Result<std::unique_ptr<SnapshotReader>> stream(const SnapshotScope& scope) override;
  [[nodiscard]] Result<> recover(const SnapshotScope& scope, const std::string& path,
                                 const std::string& checksum) override;
  [[nodiscard]] Result<std::unique_ptr<SnapshotReceiver>> receive(
      const SnapshotScope& scope, const std::string& checksum) override;
  [[nodiscard]] Result<std::unique_ptr<SnapshotReceiver>> receive_as(
      const SnapshotUse& use, const SnapshotScope& scope, const std::string& checksum) override;
  [[nodiscard]] Result<std::unique_ptr<SnapshotReader>> open_place(
      const SnapshotScope& scope, const std::string& path, const std::string& checksum) override;
  [[nodiscard]] Result<std::string> folder_of(const SnapshotScope& scope,
                                              const std::string& name) override;
  [[nodiscard]] Result<std::vector<std::string>> restore_storage(
      const std::string& folder) override;

 private:
  class Receiver;

  /// The scope with the collection's own name. kNotFound about the collection or the shard.
  Result<SnapshotScope> resolved(const SnapshotScope& scope);
  /// As `resolved`, but a whole collection need not exist.
  Result<SnapshotScope> target_of(const SnapshotScope& scope);
  /// Links the files of the scope below the draft and writes its manifest.
  Result<SnapshotManifest> fill(const SnapshotScope& scope, const SnapshotDraft& draft);
  Result<SnapshotCollection> link_collection(const std::string& name, const std::string& prefix,
                                             std::optional<std::uint32_t> shard,
                                             const SnapshotDraft& draft);
  /// As `complete_folder`, on the thread of the readers, so one after another.
  Result<ArchiveFacts> complete_there(const std::string& folder, const Cancel& cancel);
  /// Where `path` leads: a folder of a snapshot, or an archive.
  struct Place {
    std::string path;
    bool is_folder = false;
  };
  Result<Place> place_of(const SnapshotScope& scope, const std::string& path);
  /// Completes the snapshot in `folder`. kInvalidArgument if it has another checksum.
  Result<> check_checksum(const std::string& folder, const std::string& checksum);
  Result<> recover_folder(const SnapshotScope& scope, const std::string& folder,
                          const std::string& checksum);
  Result<> recover_archive(const SnapshotScope& scope, const std::string& path,
                           const std::string& checksum);
  /// Checks the files in a reserved directory. The configuration that they are to have.
  Result<CollectionConfig> check_files(const SnapshotUse& use, const SnapshotScope& scope,
                                       const SnapshotManifest& manifest,
                                       const CollectionTable::Reserved& reserved) const;
  /// Puts checked files in place.
  Result<> install(const SnapshotUse& use, const SnapshotScope& scope,
                   const SnapshotManifest& manifest, const CollectionTable::Reserved& reserved);
  Result<CollectionConfig> fit(const SnapshotUse& use, const SnapshotScope& scope,
                               const SnapshotManifest& manifest) const;

  CatalogGate& gate_;
  CollectionTable& collections_;
  const ShardContext& context_;
  Executor& readers_;
  Cancel closing_;
  SnapshotShelf shelf_;
};

}  // namespace quiver::engine
