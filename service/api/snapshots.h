// Verbs about snapshots: copies of a shard, a collection or everything, made while writes go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/snapshots.h"
#include "service/api/call.h"

namespace quiver::service::api {

using engine::SnapshotDescription;
using engine::SnapshotPriority;
using engine::SnapshotScope;

/// The snapshot is listed as soon as its files are held, which takes no longer for more data.
/// Answers when its checksum is known, too, which takes reading the files once. kNotFound about
/// the collection or the shard.
void create_snapshot(Call& call, SnapshotScope scope, Done<SnapshotDescription> done);
/// By name, ascending.
void list_snapshots(Call& call, SnapshotScope scope, Done<std::vector<SnapshotDescription>> done);
/// kNotFound about the collection, the shard or the snapshot.
void delete_snapshot(Call& call, SnapshotScope scope, std::string name, Done<> done);

/// A snapshot as one archive file. One thread at a time.
class SnapshotReader {
 public:
  virtual ~SnapshotReader() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  /// Reads bytes from `offset` on and returns their number; 0 at the end. May block.
  [[nodiscard]] virtual Result<std::size_t> read(std::uint64_t offset, std::span<char> out) = 0;
};
void read_snapshot(Call& call, SnapshotScope scope, std::string name,
                   Done<std::unique_ptr<SnapshotReader>> done);
/// Makes a snapshot that goes when the reader does.
void stream_snapshot(Call& call, SnapshotScope scope, Done<std::unique_ptr<SnapshotReader>> done);

struct SnapshotRecovery {
  std::string location;  ///< `file://` below the snapshots folder, or `http://`
  SnapshotPriority priority = SnapshotPriority::kReplica;
  std::string checksum;  ///< SHA-256 that the archive must have; empty: any
  std::string api_key;   ///< sent to an `http://` location; empty: none
};
/// Replaces the collection, or creates it; with a shard, replaces that. All or nothing.
/// kInvalidArgument for a snapshot that is damaged or of another kind, with nothing changed.
void recover_snapshot(Call& call, SnapshotScope scope, SnapshotRecovery recovery, Done<> done);

/// Takes an archive piece by piece. Destroyed before `finish`: nothing has changed. One thread at
/// a time.
class SnapshotUpload {
 public:
  virtual ~SnapshotUpload() = default;
  /// May block. After an error nothing more is taken.
  [[nodiscard]] virtual Result<> write(std::string_view bytes) = 0;
  /// As `recover_snapshot`.
  [[nodiscard]] virtual Result<> finish() = 0;
};
/// `checksum`: as in SnapshotRecovery.
[[nodiscard]] Result<std::unique_ptr<SnapshotUpload>> upload_snapshot(Call& call,
                                                                      SnapshotScope scope,
                                                                      std::string checksum);

}  // namespace quiver::service::api
