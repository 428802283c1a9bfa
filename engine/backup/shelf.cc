#include "engine/backup/shelf.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "base/observe/log.h"
#include "engine/model/part_name.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".snapshot";
/// Folders that are being copied to another file system, or removed. No collection's name has a
/// `*`, so none of their folders is taken for one of these.
constexpr std::string_view kPartial = "*partial";
constexpr std::string_view kRemoved = "*removed";
// A file's name has at most 255 bytes, and up to 62 of them follow the collection's name.
constexpr std::size_t kMaxCollectionBytes = 180;
constexpr std::size_t kCutCollectionBytes = 160;

/// Copies a draft to another file system under a passing name.
Result<> copy_tree(const std::string& from, const std::string& to) {
  QV_TRY(const auto files, files_below(from));
  for (const auto& file : files) {
    const std::string target = fmt::format("{}/{}", to, file.path);
    QV_TRY(make_directories(fs::path(target).parent_path()));
    QV_TRY(copy_file(fmt::format("{}/{}", from, file.path), target));
  }
  return sync_tree(to);
}

Result<> move_tree(const std::string& from, const std::string& to) {
  QV_TRY(const bool moved, rename_tree(from, to));
  if (moved) return {};
  const std::string partial = fmt::format("{}{}", to, kPartial);
  QV_TRY(remove_tree(partial));
  QV_TRY(copy_tree(from, partial));
  QV_TRY(rename_tree(partial, to));
  return {};
}

/// A number that stays the same for a folder of snapshots.
std::uint64_t peer_of(const std::string& directory) {
  std::error_code error;
  return hash_text(fs::weakly_canonical(directory, error).string());
}

bool is_unfinished(const std::string& name) {
  return name.ends_with(fmt::format("{}{}", kEnding, kPartial)) ||
         name.ends_with(fmt::format("{}{}", kEnding, kRemoved));
}

/// Removes unfinished folders below `directory`, which may hold a great many snapshots.
Result<> remove_unfinished(const std::string& directory) {
  QV_TRY(const auto opened, open_existing_directory(directory));
  QV_TRY(const auto entries, opened->list());
  for (const auto& [name, kind] : entries) {
    const std::string path = fmt::format("{}/{}", directory, name);
    if (kind != EntryKind::kDirectory) continue;
    if (is_unfinished(name)) {
      QV_TRY(remove_tree(path));
    } else if (!is_snapshot_folder(path)) {
      QV_TRY(remove_unfinished(path));
    }
  }
  return {};
}

/// The collection's name as the beginning of a file's; a long one ends in its hash. A shard with
/// nodes of its own is `docs/0` in its cluster.
std::string stem_of(std::string collection) {
  if (const auto part = parse_part_name(collection)) {
    collection = fmt::format("{}-shard-{}", part->collection, part->part);
  }
  if (collection.size() <= kMaxCollectionBytes) return collection;
  std::size_t n = kCutCollectionBytes;
  const auto is_continuation = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
  };
  while (n > 0 && is_continuation(collection[n])) --n;  // no half of a character
  return fmt::format("{}-{:016x}", collection.substr(0, n), hash_text(collection));
}

/// The nearest directory above `path` that exists, or `path`.
std::string existing_above(const std::string& path) {
  std::error_code error;
  fs::path above = fs::absolute(path, error);
  while (!fs::exists(above, error) && above.has_relative_path()) above = above.parent_path();
  return above;
}

/// Makes the names of the directories durable that lead from `above` to `path`.
Result<> sync_between(const std::string& above, const std::string& path) {
  std::error_code error;
  for (fs::path at = fs::absolute(path, error);; at = at.parent_path()) {
    QV_TRY(sync_directory(at));
    if (at == above || !at.has_relative_path()) return {};
  }
}

tl::unexpected<Error> no_snapshot(const std::string& name) {
  return fail(Code::kNotFound, fmt::format("Snapshot `{}` does not exist", name));
}

}  // namespace

SnapshotDraft::~SnapshotDraft() {
  if (auto removed = remove_tree(path_); !removed) {
    log_warning("removing an unfinished snapshot: {}", removed.error().message());
  }
}

Result<> SnapshotShelf::start() {
  QV_TRY(remove_tree(work_dir_));
  std::error_code error;
  if (!fs::exists(snapshots_dir_, error)) return {};
  if (auto removed = remove_unfinished(snapshots_dir_); !removed) {
    log_warning("removing unfinished snapshots: {}", removed.error().message());
  }
  return {};
}

Result<std::unique_ptr<SnapshotDraft>> SnapshotShelf::new_draft() {
  auto draft = std::make_unique<SnapshotDraft>(fmt::format("{}/{}", work_dir_, next_draft_++));
  QV_TRY(make_directories(files_of_folder(draft->path())));
  return draft;
}

std::string SnapshotShelf::place_of(const SnapshotScope& scope) const {
  if (scope.collection.empty()) return snapshots_dir_;
  if (const auto part = parse_part_name(scope.collection)) {
    return fmt::format("{}/{}/shards/{}", snapshots_dir_, part->collection, part->part);
  }
  std::string place = fmt::format("{}/{}", snapshots_dir_, scope.collection);
  return scope.shard ? fmt::format("{}/shards/{}", place, *scope.shard) : place;
}

Result<SnapshotDescription> SnapshotShelf::keep(const SnapshotScope& scope,
                                                const SnapshotDraft& draft,
                                                std::int64_t created_at_s) {
  const std::string place = place_of(scope);
  const auto date =
      fmt::format("{:%Y-%m-%d-%H-%M-%S}", fmt::gmtime(static_cast<std::time_t>(created_at_s)));
  const std::string collection = stem_of(scope.collection);
  std::string stem = fmt::format("{}-{}-{}", collection, peer_of(snapshots_dir_), date);
  if (scope.collection.empty()) stem = fmt::format("full-snapshot-{}", date);
  if (scope.shard) stem = fmt::format("{}-shard-{}-{}", collection, *scope.shard, date);
  const std::string above = existing_above(snapshots_dir_);
  QV_TRY(make_directories(place));
  MutexLock lock(names_mutex_);
  std::error_code error;
  std::string folder = fmt::format("{}/{}{}", place, stem, kEnding);
  for (int n = 2; fs::exists(folder, error); ++n) {
    folder = fmt::format("{}/{}-{}{}", place, stem, n, kEnding);
  }
  QV_TRY(sync_tree(draft.path()));
  QV_TRY(move_tree(draft.path(), folder));
  QV_TRY(sync_between(above, place));
  return describe(folder);
}

Result<std::vector<SnapshotDescription>> SnapshotShelf::list(const SnapshotScope& scope) const {
  std::vector<SnapshotDescription> found;
  const std::string place = place_of(scope);
  std::error_code error;
  if (!fs::exists(place, error)) return found;
  QV_TRY(const auto directory, open_existing_directory(place));
  QV_TRY(const auto entries, directory->list());
  for (const auto& [name, kind] : entries) {
    const std::string folder = fmt::format("{}/{}", place, name);
    const bool may_be = kind == EntryKind::kDirectory && name.ends_with(kEnding);
    if (!may_be || !is_snapshot_folder(folder)) continue;
    auto description = describe(folder);
    if (!description) {
      log_warning("the snapshot `{}`: {}", folder, description.error().message());
      continue;
    }
    found.push_back(*std::move(description));
  }
  return found;
}

Result<std::string> SnapshotShelf::find(const SnapshotScope& scope, const std::string& name) const {
  if (!check_file_name(name) || !name.ends_with(kEnding)) return no_snapshot(name);
  std::string folder = fmt::format("{}/{}", place_of(scope), name);
  if (!is_snapshot_folder(folder)) return no_snapshot(name);
  return folder;
}

Result<> SnapshotShelf::remove(const SnapshotScope& scope, const std::string& name) {
  QV_TRY(const std::string folder, find(scope, name));
  const std::string removed = fmt::format("{}{}", folder, kRemoved);
  // What is left of a removal that failed; names of the same second are the same.
  QV_TRY(remove_tree(removed));
  QV_TRY(rename_tree(folder, removed));
  // Without its manifest the folder is no snapshot, should the rest have to wait for a start.
  QV_TRY(remove_tree(fmt::format("{}/manifest.json", removed)));
  return remove_tree(removed);
}

Result<SnapshotDescription> SnapshotShelf::describe(const std::string& folder) const {
  QV_TRY(const auto manifest, read_snapshot_manifest(folder));
  QV_TRY(const auto facts, read_archive_facts(folder));
  return SnapshotDescription{fs::path(folder).filename(), manifest.created_at_s, facts.size_bytes,
                             facts.sha256};
}

}  // namespace quiver::engine
