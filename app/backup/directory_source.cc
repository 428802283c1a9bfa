// A snapshot of a data directory that no server has open.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "app/backup/source.h"
#include "base/hash.h"
#include "base/io/file_tree.h"
#include "base/observe/log.h"
#include "engine/backup/folder.h"
#include "engine/database.h"

namespace quiver::app {
namespace {

class DirectorySource final : public BackupSource {
 public:
  DirectorySource(std::unique_ptr<engine::Database> database, std::string place,
                  const SnapshotNote& note)
      : database_(std::move(database)), place_(std::move(place)), note_(note) {}
  ~DirectorySource() override {
    if (!name_.empty()) {
      auto removed = database_->snapshots()->remove({}, name_);
      if (removed) removed = note_.clear();
      if (!removed) log_warning("{}", removed.error().message());
    }
    if (auto closed = database_->close(); !closed) log_warning("{}", closed.error().message());
  }
  DirectorySource(const DirectorySource&) = delete;
  DirectorySource& operator=(const DirectorySource&) = delete;

  Result<> open() {
    engine::Snapshots& snapshots = *database_->snapshots();
    QV_TRY(remove_noted(snapshots));
    QV_TRY(const auto made, snapshots.create({}));
    name_ = made.name;
    QV_TRY(note_.write({place_, name_}));
    QV_TRY(snapshots.complete({}, name_, Cancel()));
    QV_TRY(check_not_stopped());
    QV_TRY(folder_, snapshots.folder_of({}, name_));
    QV_TRY(manifest_, engine::read_snapshot_manifest(folder_));
    return {};
  }

  [[nodiscard]] const engine::SnapshotManifest& manifest() const override { return manifest_; }
  [[nodiscard]] Result<> fetch(const engine::SnapshotFile& file, const std::string& to) override {
    QV_TRY(check_not_stopped());
    // The checksum was computed from the same bytes a moment ago.
    return copy_file(fmt::format("{}/{}", engine::files_of_folder(folder_), file.path), to,
                     file.size_bytes);
  }

 private:
  /// Removes what a killed run has left here.
  Result<> remove_noted(engine::Snapshots& snapshots) {
    QV_TRY(const auto noted, note_.read());
    if (!noted || noted->place != place_) return {};
    const auto removed = snapshots.remove({}, noted->name);
    if (!removed && removed.error().code() != Code::kNotFound) return fail(removed.error());
    return note_.clear();
  }

  std::unique_ptr<engine::Database> database_;
  const std::string place_;
  const SnapshotNote& note_;
  std::string name_;
  std::string folder_;
  engine::SnapshotManifest manifest_;
};

}  // namespace

Result<std::unique_ptr<BackupSource>> open_directory_source(const std::string& data_dir,
                                                            const SnapshotNote& note) {
  if (!std::filesystem::is_directory(data_dir)) {
    return fail(Code::kNotFound, fmt::format("there is no data directory `{}`", data_dir));
  }
  engine::DatabaseOptions options;
  options.data_dir = data_dir;
  options.record_queries = true;
  QV_TRY(auto database, engine::Database::open(std::move(options)));
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(data_dir, error);
  auto source = std::make_unique<DirectorySource>(std::move(database), place.string(), note);
  QV_TRY(source->open());
  return source;
}

}  // namespace quiver::app
