// Verbs about snapshots: copies of a shard, a collection or everything, made while writes go on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/snapshots.h"
#include "engine/snapshots.h"
#include "service/api/call.h"

namespace quiver::service::api {

using engine::SnapshotDescription;
using engine::SnapshotPriority;
using engine::SnapshotReader;
using engine::SnapshotScope;

/// The snapshot is listed as soon as its files are held, which takes no longer for more data.
/// Answers when its checksum is known, too, which takes reading the files once. kNotFound about
/// the collection or the shard.
void create_snapshot(Call& call, SnapshotScope scope, Done<SnapshotDescription> done);
/// By name, ascending.
void list_snapshots(Call& call, SnapshotScope scope, Done<std::vector<SnapshotDescription>> done);
/// kNotFound about the collection, the shard or the snapshot.
void delete_snapshot(Call& call, SnapshotScope scope, std::string name, Done<> done);

/// A snapshot as one archive file.
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

/// As `create_snapshot`, but answers without the checksum. A snapshot whose files turn out not to
/// be readable is removed, and the log says why.
void start_snapshot(Call& call, SnapshotScope scope, Done<SnapshotDescription> done);

// The same without waiting: the outcome goes to the log.
[[nodiscard]] Result<> start_deletion(Call& call, SnapshotScope scope, std::string name);
[[nodiscard]] Result<> start_recovery(Call& call, SnapshotScope scope, SnapshotRecovery recovery);

/// Takes an archive piece by piece; its `finish` does what `recover_snapshot` does.
using SnapshotUpload = engine::SnapshotReceiver;
/// `checksum`: as in SnapshotRecovery. May block for a change of the catalog.
[[nodiscard]] Result<std::unique_ptr<SnapshotUpload>> upload_snapshot(Call& call,
                                                                      SnapshotScope scope,
                                                                      std::string checksum);
void finish_upload(Call& call, std::shared_ptr<SnapshotUpload> upload, Done<> done);
[[nodiscard]] Result<> start_finishing(Call& call, std::shared_ptr<SnapshotUpload> upload);

}  // namespace quiver::service::api
