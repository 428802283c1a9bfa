// The collections and aliases of a data directory.
//
// One file, `catalog`, is replaced as a whole (docs/formats/catalog.md). Each collection has one
// subdirectory of `collections/`, named by an opaque id. So names that users choose never reach the
// file system.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/result.h"
#include "storage/catalog/alias.h"

namespace quiver::storage {

struct CatalogEntry {
  std::string name;
  std::string directory;  ///< plain name below `collections/`, never reused
  std::string config;     ///< opaque to the catalog
  /// False until everything below the directory has been made. Afterwards a missing file there
  /// means loss.
  bool complete = false;
  bool operator==(const CatalogEntry&) const = default;
};

/// Thread-safe. A change is durable when its call returns. After an error the catalog is unchanged,
/// in memory and after a restart. If a change fails after its file was put in place, the old state
/// is written again. If that fails too, `is_certain` is false until `settle` succeeds, and a
/// restart may find either state.
class Catalog {
 public:
  static constexpr std::string_view kFileName = "catalog";
  /// A copy of the catalog, a little older at most. Only `quiver check --repair` and `quiver
  /// rescue` read it.
  static constexpr std::string_view kCopyName = "catalog.copy";
  static constexpr std::string_view kCollectionsDirectory = "collections";

  /// Reads the catalog of `directory`, or starts an empty one. kDataLoss names a damaged file, or a
  /// missing one if there are directories of collections. `directory` is borrowed and must outlive
  /// the catalog.
  static Result<std::unique_ptr<Catalog>> open(Directory& directory);

  /// Records a collection under a new directory id. The caller then makes the directory and calls
  /// `complete`. kAlreadyExists if a collection or an alias has that name.
  Result<CatalogEntry> create(std::string_view name, std::string_view config);
  /// Records that everything below the collection's directory has been made.
  Result<> complete(std::string_view name);
  /// Removes the collection and its aliases from the catalog; its directory becomes garbage. The
  /// caller then removes the directory and calls `forget_garbage`.
  Result<CatalogEntry> drop(std::string_view name);
  /// Undoes `create`, as `drop` does, also while the disk takes no change: then `is_certain` is
  /// false until `settle` succeeds, and a restart before may find the collection. The error says
  /// why.
  Result<> take_back(const CatalogEntry& created);
  /// Call it when the removal of `directory` is durable. No effect if `directory` is not garbage.
  Result<> forget_garbage(std::string_view directory);
  Result<> update(std::string_view name, std::string_view config);
  /// As above; kNotFound if the collection is in another directory by now.
  Result<> update(std::string_view name, std::string_view directory, std::string_view config);
  /// Takes a new directory id for files that are put there before a collection has them. Until
  /// `adopt` the directory is garbage.
  Result<std::string> reserve();
  /// Makes a reserved directory, in which everything is made, a collection. It replaces the one
  /// of this name, whose directory is `replaced` ("" if there is none) and becomes garbage; aliases
  /// stay. kAlreadyExists if an alias has the name; kNotFound if the directory is not reserved;
  /// kAborted if the collection has another directory by now.
  Result<> adopt(std::string_view name, std::string_view directory, std::string_view config,
                 std::string_view replaced);
  /// Makes all changes in order, or none. kCreate and kRename replace an alias of the same name.
  /// kNotFound for a missing collection or alias; kAlreadyExists if a collection has the name.
  Result<> apply_aliases(std::span<const AliasChange> changes);
  /// The aliases after `apply_aliases`, which is not done. Errors as of it.
  [[nodiscard]] Result<std::vector<AliasEntry>> plan_aliases(
      std::span<const AliasChange> changes) const;

  /// Finds a collection by its own name, not by an alias.
  [[nodiscard]] std::optional<CatalogEntry> find(std::string_view name) const;
  /// Returns the collection's name, given that name or an alias.
  [[nodiscard]] std::optional<std::string> resolve(std::string_view name_or_alias) const;
  /// All collections, sorted by name.
  [[nodiscard]] std::vector<CatalogEntry> entries() const;
  [[nodiscard]] std::vector<AliasEntry> aliases() const;

  /// Directories below `collections/` of dropped collections that are not yet removed.
  [[nodiscard]] std::vector<std::string> garbage() const;
  /// Names below `collections/` that were not in the catalog at `open`. The server never removes
  /// them.
  [[nodiscard]] const std::vector<std::string>& strangers() const { return strangers_; }

  /// False after a change failed half-way and could not be undone. Then no change is accepted, and
  /// nothing that a restart could lose should be acknowledged.
  [[nodiscard]] bool is_certain() const { return certain_; }
  /// Writes the current state to disk. No effect if the disk certainly has it.
  Result<> settle();
  /// Brings `catalog.copy` up to date. Costs nothing if it is. The catalog itself does not need it,
  /// so a failure is no reason to refuse anything.
  Result<> refresh_copy();

  /// The contents of the catalog file.
  struct State {
    std::uint64_t next_directory = 1;
    std::map<std::string, CatalogEntry, std::less<>> collections;
    std::map<std::string, std::string, std::less<>> aliases;  // alias → collection
    std::set<std::string, std::less<>> garbage;
  };

 private:
  explicit Catalog(Directory& directory) : directory_(directory) {}
  Result<> load();
  Result<> find_strangers();
  /// Entries below `collections/`, sorted.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> list_collections() const;
  [[nodiscard]] Result<std::string> free_directory(State& next) const;
  /// Writes `next` and makes it current.
  Result<> commit(State next) QV_REQUIRES(change_mutex_);
  Result<> rewrite() QV_REQUIRES(change_mutex_);
  [[nodiscard]] bool may_be_on_disk(Bytes file) const;
  [[nodiscard]] State copy() const;

  Directory& directory_;
  std::vector<std::string> strangers_;
  std::atomic<bool> certain_ = true;
  std::atomic<bool> copy_is_old_ = true;
  Mutex change_mutex_;         // serialises changes; held until a change is durable
  mutable Mutex state_mutex_;  // guards state_, for a few lines at a time
  State state_ QV_GUARDED_BY(state_mutex_);
};

}  // namespace quiver::storage
