// The collections and aliases of a data directory.
//
// One file, `catalog`, replaced as a whole (docs/formats/catalog.md); one subdirectory per
// collection under `collections/`, named by an opaque id, so that no name a user chooses ever
// reaches the file system.
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

namespace quiver::storage {

struct CatalogEntry {
  std::string name;
  std::string directory;  ///< plain name below `collections/`, never used twice
  std::string config;     ///< opaque to the catalog
  /// False until everything below the directory was made once: from then on what is missing there
  /// was lost, not yet made.
  bool complete = false;
  bool operator==(const CatalogEntry&) const = default;
};

struct Alias {
  std::string name;
  std::string collection;
  bool operator==(const Alias&) const = default;
};

struct AliasChange {
  enum class Kind : std::uint8_t { kCreate, kDelete, kRename };
  Kind kind = Kind::kCreate;
  std::string alias;
  std::string target;  ///< kCreate: the collection; kRename: the alias's new name
};

/// Any number of threads. A change is durable when its call returns. After an error the catalog is
/// as before, in memory and after a restart. A change may fail after its file was put in place: the
/// old state is then written again. Where that fails too, `is_certain` is false until `settle`
/// succeeds, and a restart may find either state.
class Catalog {
 public:
  static constexpr std::string_view kFileName = "catalog";
  static constexpr std::string_view kCollectionsDirectory = "collections";

  /// Reads the catalog of `directory`, or starts an empty one. kDataLoss names a damaged file, or
  /// a missing one where there are directories of collections. `directory` is borrowed and outlives
  /// the catalog.
  static Result<std::unique_ptr<Catalog>> open(Directory& directory);

  /// Records a collection under a fresh directory id; the caller makes the directory afterwards,
  /// then calls `complete`. kAlreadyExists if a collection or an alias has that name.
  Result<CatalogEntry> create(std::string_view name, std::string_view config);
  /// Records that everything below the collection's directory was made.
  Result<> complete(std::string_view name);
  /// Forgets the collection and its aliases; its directory is garbage from here on. The caller
  /// removes the directory, then calls `forget_garbage`.
  Result<CatalogEntry> drop(std::string_view name);
  /// After the removal of `directory` is durable. Nothing if it is no garbage.
  Result<> forget_garbage(std::string_view directory);
  Result<> update(std::string_view name, std::string_view config);
  /// All changes in order, or none. kCreate and kRename replace an alias that has the name already.
  /// kNotFound for a missing collection or alias; kAlreadyExists if a collection has the name.
  Result<> apply_aliases(std::span<const AliasChange> changes);

  /// By the collection's own name only.
  [[nodiscard]] std::optional<CatalogEntry> find(std::string_view name) const;
  /// The collection's name for its name or an alias of it.
  [[nodiscard]] std::optional<std::string> resolve(std::string_view name_or_alias) const;
  /// Sorted by name.
  [[nodiscard]] std::vector<CatalogEntry> entries() const;
  [[nodiscard]] std::vector<Alias> aliases() const;

  /// Directories below `collections/` of dropped collections, not yet removed.
  [[nodiscard]] std::vector<std::string> garbage() const;
  /// Names below `collections/` that the catalog does not know, at `open`. They are not ours to
  /// remove.
  [[nodiscard]] const std::vector<std::string>& strangers() const { return strangers_; }

  /// False after a change that failed half-way and could not be undone: no change is taken, and
  /// nothing should be acknowledged that a restart could lose.
  [[nodiscard]] bool is_certain() const { return certain_; }
  /// Makes the disk hold the present state. Nothing to do if that is certain.
  Result<> settle();

  /// What the file holds.
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
  /// What stands below `collections/`, sorted.
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
  Mutex change_mutex_;         // one change at a time, held while it becomes durable
  mutable Mutex state_mutex_;  // guards state_, for a few lines
  State state_ QV_GUARDED_BY(state_mutex_);
};

}  // namespace quiver::storage
