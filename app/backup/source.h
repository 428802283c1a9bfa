// Where a backup's files come from: a stopped data directory, or a running server.
#pragma once

#include <memory>
#include <string>

#include "app/backup/options.h"
#include "app/backup/snapshot_note.h"
#include "base/result.h"
#include "engine/backup/manifest.h"

namespace quiver::app {

/// A snapshot of the whole storage. It is removed with this object.
class BackupSource {
 public:
  virtual ~BackupSource() = default;
  /// With all checksums.
  [[nodiscard]] virtual const engine::SnapshotManifest& manifest() const = 0;
  /// Writes a file of the manifest to `to`, synced. kDataLoss unless it has its checksum.
  [[nodiscard]] virtual Result<> fetch(const engine::SnapshotFile& file, const std::string& to) = 0;
};

/// Both note the snapshot in `note` while it is there, and first remove one that is noted already.
[[nodiscard]] Result<std::unique_ptr<BackupSource>> open_directory_source(
    const std::string& data_dir, const SnapshotNote& note);
[[nodiscard]] Result<std::unique_ptr<BackupSource>> open_server_source(const BackupOptions& options,
                                                                       const SnapshotNote& note);

}  // namespace quiver::app
