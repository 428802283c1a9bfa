// A snapshot as a folder: docs/formats/snapshot.md. Its files are links to those of the database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/backup/manifest.h"
#include "engine/snapshots.h"

namespace quiver::engine {

/// What is known of the archive that a folder would be sent as.
struct ArchiveFacts {
  std::uint64_t size_bytes = 0;
  std::string sha256;  ///< empty: not computed yet
};

/// The directory of a snapshot's files.
[[nodiscard]] std::string files_of_folder(const std::string& folder);
/// True if `folder` is the folder of a snapshot.
[[nodiscard]] bool is_snapshot_folder(const std::string& folder);

/// Lists the files of the folder in `manifest` and writes that, without checksums.
[[nodiscard]] Result<> write_new_manifest(const std::string& folder, SnapshotManifest manifest);
[[nodiscard]] Result<SnapshotManifest> read_snapshot_manifest(const std::string& folder);
[[nodiscard]] Result<ArchiveFacts> read_archive_facts(const std::string& folder);
/// Reads all files once and stores their checksums and that of the archive. At once if they are
/// there. One call for a folder at a time. Ends with the error of `may_go_on`, which is asked after
/// every 64 KiB and may sleep.
[[nodiscard]] Result<ArchiveFacts> complete_folder(const std::string& folder,
                                                   const std::function<Result<>()>& may_go_on);
/// Reads a complete folder as an archive.
[[nodiscard]] Result<std::unique_ptr<SnapshotReader>> open_folder(const std::string& folder);
/// Reads a folder without checksums as the same archive, and computes them from what passes. So it
/// opens at once, and the first reading of an offset takes reading all that is before it.
[[nodiscard]] Result<std::unique_ptr<SnapshotReader>> open_new_folder(const std::string& folder);

enum class Sharing : std::uint8_t { kLinks, kCopies };
/// Puts the files of a complete folder whose paths begin with `prefix`, which is left out, into
/// `target`, which exists. Compares each with its checksum: kInvalidArgument names a damaged one,
/// and what `target` holds then is of no use. Links only files that never change. Durable on
/// return.
[[nodiscard]] Result<> unfold(const std::string& folder, const SnapshotManifest& manifest,
                              const std::string& prefix, const std::string& target,
                              Sharing sharing);
/// True if a file with this path never changes once it is written, so that a link is a copy.
[[nodiscard]] bool is_immutable(const std::string& path);

}  // namespace quiver::engine
