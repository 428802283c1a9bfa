// Snapshots of a database: copies of a shard, a collection or everything, made while writes go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/config.h"
#include "engine/model/snapshots.h"

namespace quiver::engine {

/// A snapshot as one archive file. One thread at a time.
class SnapshotReader {
 public:
  virtual ~SnapshotReader() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  /// Reads bytes from `offset` on and returns their number; 0 at the end. May block.
  [[nodiscard]] virtual Result<std::size_t> read(std::uint64_t offset, std::span<char> out) = 0;
};

/// What an archive becomes on this server.
struct SnapshotUse {
  enum class Kind : std::uint8_t {
    kOwn,     ///< a collection of this server alone
    kCopy,    ///< what it is on the node that sent it; what it replaces may be quite another
    kShared,  ///< a new collection of the cluster: its log begins with one entry, applied
  };
  Kind kind = Kind::kOwn;
  std::string cluster_id = {};  ///< kShared: of the new collection
  bool must_fit = true;         ///< kOwn, kShared: refused unless it fits what it replaces
};

/// Takes an archive piece by piece. Destroyed before `finish`: nothing has changed. One thread at
/// a time.
class SnapshotReceiver {
 public:
  virtual ~SnapshotReceiver() = default;
  /// May block. After an error nothing more is taken.
  [[nodiscard]] virtual Result<> write(std::string_view bytes) = 0;
  /// The checks of `finish`, which does not repeat them. The configuration that the collection is
  /// to have. Changes nothing that is seen.
  [[nodiscard]] virtual Result<CollectionConfig> check() {
    return fail(Code::kUnimplemented, "archives are not checked here");
  }
  /// Checks the archive as a whole, then puts its contents in place: all or nothing.
  /// kInvalidArgument for an archive that is damaged, has another checksum, or does not fit.
  [[nodiscard]] virtual Result<> finish() = 0;
};

/// kInvalidArgument unless a collection may take the state of a snapshot, or of one of a shard.
[[nodiscard]] Result<> check_fits(const CollectionConfig& present, const CollectionConfig& found,
                                  bool is_shard);

/// Reads an archive file.
[[nodiscard]] Result<std::unique_ptr<SnapshotReader>> open_archive(const std::string& path);
/// Writes all of `from`. Does not finish `to`.
[[nodiscard]] Result<> copy_archive(SnapshotReader& from, SnapshotReceiver& to);

/// Thread-safe. Errors: kNotFound about a collection, a shard or a snapshot.
class Snapshots {
 public:
  virtual ~Snapshots() = default;

  /// kNotFound if there is no such collection or shard.
  [[nodiscard]] virtual Result<> check_scope(const SnapshotScope& scope) = 0;
  /// Makes a snapshot. It is listed once its files are held by links, in a time that does not
  /// depend on their size. Its checksum is not known yet.
  [[nodiscard]] virtual Result<SnapshotDescription> create(const SnapshotScope& scope) = 0;
  /// Computes the checksum of a snapshot, which takes reading it once. At once if it is known.
  /// If `cancel` or the end of the database stops it, the snapshot stays, without a checksum.
  [[nodiscard]] virtual Result<SnapshotDescription> complete(const SnapshotScope& scope,
                                                             const std::string& name,
                                                             const Cancel& cancel) = 0;
  /// By name, ascending.
  [[nodiscard]] virtual Result<std::vector<SnapshotDescription>> list(
      const SnapshotScope& scope) = 0;
  [[nodiscard]] virtual Result<> remove(const SnapshotScope& scope, const std::string& name) = 0;

  /// Completes the snapshot first.
  [[nodiscard]] virtual Result<std::unique_ptr<SnapshotReader>> open(const SnapshotScope& scope,
                                                                     const std::string& name) = 0;
  /// Makes a snapshot that is removed when the reader is destroyed, in a time that does not depend
  /// on its size. Checksums are computed while it is read.
  [[nodiscard]] virtual Result<std::unique_ptr<SnapshotReader>> stream(
      const SnapshotScope& scope) = 0;

  /// Recovers a collection or a shard from the snapshot or the archive at `path`, which must be
  /// below the folder of snapshots: kPermissionDenied. A plain name is that of a stored snapshot.
  /// kFailedPrecondition if it does not exist.
  /// `checksum`: SHA-256 that the archive must have; empty: any.
  [[nodiscard]] virtual Result<> recover(const SnapshotScope& scope, const std::string& path,
                                         const std::string& checksum) = 0;
  /// Recovers a collection or a shard from an archive that arrives in pieces.
  [[nodiscard]] virtual Result<std::unique_ptr<SnapshotReceiver>> receive(
      const SnapshotScope& scope, const std::string& checksum) = 0;

  // For the nodes of a cluster.

  /// `receive`, for another use than kOwn.
  [[nodiscard]] virtual Result<std::unique_ptr<SnapshotReceiver>> receive_as(
      const SnapshotUse& use, const SnapshotScope& scope, const std::string& checksum) {
    (void)use;
    return receive(scope, checksum);
  }
  /// Reads what `recover` would take. Errors as of `recover`; `checksum` is compared for snapshots
  /// and not for archives.
  [[nodiscard]] virtual Result<std::unique_ptr<SnapshotReader>> open_place(
      const SnapshotScope& scope, const std::string& path, const std::string& checksum) {
    (void)scope, (void)path, (void)checksum;
    return fail(Code::kUnimplemented, "places are not read here");
  }

  // For commands that work on a data directory.

  /// The folder of a stored snapshot.
  [[nodiscard]] virtual Result<std::string> folder_of(const SnapshotScope& scope,
                                                      const std::string& name) = 0;
  /// Copies all collections and aliases out of the folder of a storage snapshot, wherever it is.
  /// All files are checked first; then collections come one by one, each all or nothing. Returns
  /// their names. kAlreadyExists, with nothing changed, if there is one of the same name.
  [[nodiscard]] virtual Result<std::vector<std::string>> restore_storage(
      const std::string& folder) = 0;
};

}  // namespace quiver::engine
