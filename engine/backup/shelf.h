// The folder of snapshots: which there are, under which names.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/backup/folder.h"
#include "engine/backup/manifest.h"
#include "engine/model/snapshots.h"

namespace quiver::engine {

/// A folder below the data directory in which a snapshot is made. Removed with this object unless
/// it was moved away.
class SnapshotDraft {
 public:
  explicit SnapshotDraft(std::string path) : path_(std::move(path)) {}
  ~SnapshotDraft();
  SnapshotDraft(const SnapshotDraft&) = delete;
  SnapshotDraft& operator=(const SnapshotDraft&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

/// Scopes name collections by their own names, never by aliases. Thread-safe after `start`.
class SnapshotShelf {
 public:
  /// `work_dir` is on the file system of the collections, `snapshots_dir` should be.
  SnapshotShelf(std::string snapshots_dir, std::string work_dir)
      : snapshots_dir_(std::move(snapshots_dir)), work_dir_(std::move(work_dir)) {}

  /// Removes what a crash has left, but no snapshot.
  Result<> start();

  [[nodiscard]] const std::string& directory() const { return snapshots_dir_; }
  Result<std::unique_ptr<SnapshotDraft>> new_draft();
  /// Gives a draft with its manifest a name and a place.
  Result<SnapshotDescription> keep(const SnapshotScope& scope, const SnapshotDraft& draft,
                                   std::int64_t created_at_s) QV_EXCLUDES(names_mutex_);

  Result<std::vector<SnapshotDescription>> list(const SnapshotScope& scope) const;
  Result<> remove(const SnapshotScope& scope, const std::string& name);
  /// The folder of a snapshot. kNotFound.
  Result<std::string> find(const SnapshotScope& scope, const std::string& name) const;
  Result<SnapshotDescription> describe(const std::string& folder) const;

 private:
  [[nodiscard]] std::string place_of(const SnapshotScope& scope) const;

  const std::string snapshots_dir_;
  const std::string work_dir_;
  std::atomic<std::uint64_t> next_draft_ = 1;
  Mutex names_mutex_;  ///< held while a name is taken
};

}  // namespace quiver::engine
