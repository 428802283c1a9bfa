// The collections and aliases of a data directory.
//
// One file, `catalog`, replaced as a whole (docs/formats/catalog.md); one subdirectory per
// collection under `collections/`, named by an opaque id, so that no name a user chooses ever
// reaches the file system.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/mutex.h"
#include "base/result.h"

namespace quiver::storage {

struct CatalogEntry {
  std::string name;
  std::string directory;  ///< plain name below `collections/`, never used twice
  std::string config;     ///< opaque to the catalog
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

/// Any number of threads. A change is durable when its call returns; after an error the catalog
/// is as before, in memory and after a restart (of a change that failed while it became durable, a
/// restart may find either).
class Catalog {
 public:
  static constexpr std::string_view kFileName = "catalog";
  static constexpr std::string_view kCollectionsDirectory = "collections";

  /// Reads the catalog of `directory`, or starts an empty one. kDataLoss names a damaged file.
  /// `directory` is borrowed and outlives the catalog.
  static Result<std::unique_ptr<Catalog>> open(Directory& directory);

  /// Records a collection under a fresh directory id; the caller makes the directory afterwards.
  /// kAlreadyExists if a collection or an alias has that name.
  Result<CatalogEntry> create(std::string_view name, std::string_view config);
  /// Forgets the collection and its aliases; the caller removes the returned directory afterwards.
  Result<CatalogEntry> drop(std::string_view name);
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

  /// Names below `collections/` that no entry owned at `open`: left over from a creation or a drop
  /// that was cut short. The caller removes them.
  [[nodiscard]] const std::vector<std::string>& orphans() const { return orphans_; }

  /// What the file holds.
  struct State {
    std::uint64_t next_directory = 1;
    std::map<std::string, CatalogEntry, std::less<>> collections;
    std::map<std::string, std::string, std::less<>> aliases;  // alias → collection
  };

 private:
  explicit Catalog(Directory& directory) : directory_(directory) {}
  Result<> load();
  Result<> find_orphans();
  /// Writes `next` and makes it current.
  Result<> commit(State next);
  [[nodiscard]] State copy() const;

  Directory& directory_;
  std::vector<std::string> orphans_;
  Mutex change_mutex_;         // one change at a time, held while it becomes durable
  mutable Mutex state_mutex_;  // guards state_, for a few lines
  State state_ QV_GUARDED_BY(state_mutex_);
};

}  // namespace quiver::storage
