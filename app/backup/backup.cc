#include "app/backup/backup.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "app/backup/snapshot_note.h"
#include "app/backup/source.h"
#include "app/common/signals.h"
#include "base/hash.h"
#include "base/io/file.h"
#include "base/io/file_lock.h"
#include "base/io/file_tree.h"
#include "base/observe/log.h"
#include "engine/backup/folder.h"
#include "engine/backup/layout.h"
#include "engine/backup/tar.h"
#include "engine/database.h"
#include "service/client/http.h"

namespace quiver::app {
namespace {

namespace fs = std::filesystem;
using engine::SnapshotFile;
using engine::SnapshotManifest;

constexpr std::string_view kPartial = ".partial";
constexpr const char* kLockFile = ".lock";

/// Files of an older backup by what they hold. Collections may have other places in a new one.
class OlderFiles {
 public:
  Result<> add(const std::string& backup) {
    QV_TRY(const auto manifest, engine::read_snapshot_manifest(backup));
    for (const auto& file : manifest.files) {
      paths_.emplace(key_of(file),
                     fmt::format("{}/{}", engine::files_of_folder(backup), file.path));
    }
    return {};
  }
  /// nullptr if there is none.
  [[nodiscard]] const std::string* find(const SnapshotFile& file) const {
    const auto found = paths_.find(key_of(file));
    return found == paths_.end() ? nullptr : &found->second;
  }

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  static Key key_of(const SnapshotFile& file) {
    return {fs::path(file.path).filename(), file.size_bytes, file.checksum.value_or(0)};
  }
  std::map<Key, std::string> paths_;
};

struct Copied {
  std::size_t n_linked = 0;
  std::size_t n_copied = 0;
  std::uint64_t copied_bytes = 0;
};

bool is_intact(const std::string& path, const SnapshotFile& file) {
  Checksum sum;
  const auto read = read_whole_file(path, file.size_bytes, [&](Bytes bytes) -> Result<> {
    sum.update(bytes);
    return check_not_stopped();
  });
  return read && sum.digest() == file.checksum;
}

/// False if there is no older file of this kind, or it is damaged, or it cannot be linked.
bool link_older(const OlderFiles& older, const SnapshotFile& file, const std::string& to) {
  const std::string* from = older.find(file);
  if (from == nullptr) return false;
  if (is_intact(*from, file)) return link_file(*from, to).has_value();
  if (check_not_stopped()) {
    std::fprintf(stderr, "quiver: `%s` is damaged: this backup gets the file anew\n",
                 from->c_str());
  }
  return false;
}

Result<Copied> copy_files(BackupSource& source, const OlderFiles& older, const std::string& to) {
  Copied copied;
  for (const auto& file : source.manifest().files) {
    QV_TRY(engine::check_archive_path(file.path));
    QV_TRY(check_not_stopped());
    const std::string target = fmt::format("{}/{}", engine::files_of_folder(to), file.path);
    QV_TRY(make_directories(fs::path(target).parent_path()));
    if (link_older(older, file, target)) {
      ++copied.n_linked;
      continue;
    }
    QV_TRY(source.fetch(file, target));
    ++copied.n_copied;
    copied.copied_bytes += file.size_bytes;
  }
  return copied;
}

Result<> remove_unfinished(const std::string& folder) {
  QV_TRY(const auto directory, open_real_directory(folder));
  QV_TRY(const auto entries, directory->list());
  for (const auto& [name, kind] : entries) {
    if (name.ends_with(kPartial)) QV_TRY(remove_tree(fmt::format("{}/{}", folder, name)));
  }
  return {};
}

/// The manifest comes last: a folder without one is no backup.
Result<> write_manifest(const std::string& folder, const SnapshotManifest& manifest) {
  QV_TRY(const auto directory, open_real_directory(folder));
  return directory->replace_file(engine::kManifestFile,
                                 as_byte_span(engine::encode_snapshot_manifest(manifest)));
}

Result<std::string> free_name(const std::string& folder) {
  const std::string stem = fmt::format("{:%Y-%m-%dT%H-%M-%S}Z", fmt::gmtime(std::time(nullptr)));
  std::string name = stem;
  std::error_code error;
  for (int n = 2; fs::exists(fmt::format("{}/{}", folder, name), error); ++n) {
    name = fmt::format("{}-{}", stem, n);
  }
  return name;
}

Result<> remove_old(const std::string& folder, std::size_t keep) {
  QV_TRY(const auto names, backups_in(folder));
  for (std::size_t i = 0; i + keep < names.size(); ++i) {
    const std::string path = fmt::format("{}/{}", folder, names[i]);
    const std::string partial = fmt::format("{}{}", path, kPartial);
    QV_TRY(rename_tree(path, partial));
    QV_TRY(remove_tree(partial));
  }
  return {};
}

Result<> add_backup_to(BackupSource& source, const std::string& folder) {
  QV_TRY(const auto names, backups_in(folder));
  OlderFiles older;
  if (!names.empty()) QV_TRY(older.add(fmt::format("{}/{}", folder, names.back())));
  QV_TRY(const std::string name, free_name(folder));
  const std::string path = fmt::format("{}/{}", folder, name);
  const std::string partial = fmt::format("{}{}", path, kPartial);
  QV_TRY(make_directories(engine::files_of_folder(partial)));
  QV_TRY(const Copied copied, copy_files(source, older, partial));
  QV_TRY(write_manifest(partial, source.manifest()));
  QV_TRY(sync_tree(partial));
  QV_TRY(rename_tree(partial, path));
  QV_TRY(sync_directory(folder));
  fmt::print("{}: {} collections; {} files copied ({} bytes), {} linked\n", path,
             source.manifest().collections.size(), copied.n_copied, copied.copied_bytes,
             copied.n_linked);
  return {};
}

/// The backup that `folder` is or holds.
Result<std::string> backup_at(const std::string& folder) {
  if (engine::is_snapshot_folder(folder)) return folder;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(Code::kNotFound, fmt::format("there is no folder `{}`", folder));
  }
  QV_TRY(const auto names, backups_in(folder));
  if (names.empty()) return fail(Code::kNotFound, fmt::format("`{}` holds no backup", folder));
  return fmt::format("{}/{}", folder, names.back());
}

}  // namespace

Result<> check_usage(const BackupOptions& options) {
  if (!options.url.empty()) QV_TRY(client::parse_url(options.url));
  return {};
}

Result<std::vector<std::string>> backups_in(const std::string& folder) {
  QV_TRY(const auto directory, open_real_directory(folder));
  QV_TRY(const auto entries, directory->list());
  std::vector<std::string> names;
  for (const auto& [name, kind] : entries) {
    const bool is_backup = kind == EntryKind::kDirectory && !name.ends_with(kPartial) &&
                           engine::is_snapshot_folder(fmt::format("{}/{}", folder, name));
    if (is_backup) names.push_back(name);
  }
  return names;
}

Result<> run_backup(const BackupOptions& options) {
  set_up_log({.level = LogLevel::kWarning});
  QV_TRY(make_directories(options.folder));
  QV_TRY(const auto lock, FileLock::try_lock(fmt::format("{}/{}", options.folder, kLockFile)));
  if (!lock) {
    return fail(Code::kUnavailable,
                fmt::format("another backup to `{}` is running", options.folder));
  }
  QV_TRY(remove_unfinished(options.folder));
  QV_TRY(install_stop_signals());
  const SnapshotNote note(options.folder);
  QV_TRY(const auto source, options.data_dir.empty()
                                ? open_server_source(options, note)
                                : open_directory_source(options.data_dir, note));
  QV_TRY(add_backup_to(*source, options.folder));
  return options.keep == 0 ? Result<>() : remove_old(options.folder, options.keep);
}

Result<> run_restore(const RestoreOptions& options) {
  set_up_log({.level = LogLevel::kWarning});
  QV_TRY(const std::string backup, backup_at(options.folder));
  engine::DatabaseOptions database_options;
  database_options.data_dir = options.data_dir;
  QV_TRY(const auto database, engine::Database::open(std::move(database_options)));
  const auto restored = database->snapshots()->restore_storage(backup);
  QV_TRY(database->close());
  QV_TRY(const auto names, restored);
  for (const auto& name : names) fmt::print("{}\n", name);
  return {};
}

}  // namespace quiver::app
