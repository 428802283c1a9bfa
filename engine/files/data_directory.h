// A data directory that no server has open, read without a server.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/io/file_lock.h"
#include "base/result.h"
#include "engine/shard/shard_context.h"
#include "storage/catalog/catalog.h"

namespace quiver::engine {

/// The catalog, or what takes its place.
struct ReadCatalog {
  std::optional<storage::Catalog::State> state;  ///< nullopt: neither file can be read
  bool is_copy = false;                          ///< from `catalog.copy`
  std::string problem;                           ///< of the catalog; empty if it is sound
  std::string copy_problem;                      ///< of the copy; empty if it is sound or missing
};

class DataDirectory {
 public:
  /// Locks the directory, so that no server opens it meanwhile. Nothing is written, so a directory
  /// that cannot be written is read without the lock. kUnavailable if a server has it open;
  /// kNotFound if there is none.
  [[nodiscard]] static Result<DataDirectory> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return directory_->path(); }
  [[nodiscard]] Directory& directory() const { return *directory_; }
  /// Enough of a context for repairs: no executors.
  [[nodiscard]] const ShardContext& context() const { return context_; }
  [[nodiscard]] ReadCatalog read_catalog() const;
  /// Names below `collections/`, sorted.
  [[nodiscard]] std::vector<std::string> names_below_collections() const;

 private:
  std::unique_ptr<Directory> directory_;
  std::optional<FileLock> lock_;
  ShardContext context_;
};

}  // namespace quiver::engine
