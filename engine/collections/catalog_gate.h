// The catalog of a data directory, and the gate that refuses updates while it is not certain.
#pragma once

#include <memory>
#include <string>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/write/write_gate.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/lock_file.h"

namespace quiver::engine {

/// Thread-safe after `open`.
class CatalogGate {
 public:
  /// Locks the data directory and reads its catalog. `directory` outlives this.
  Result<> open(Directory& directory, const std::string& data_dir);

  [[nodiscard]] storage::Catalog& catalog() const { return *catalog_; }
  /// Asked before an update is taken.
  [[nodiscard]] const std::shared_ptr<WriteGate>& writes() const { return writes_; }
  /// kUnavailable while updates are refused.
  [[nodiscard]] Result<> check_open() const { return writes_->check(); }

  /// For the result of a change of the catalog. After a failure the disk may hold the change all
  /// the same: then the gate closes before the failure is answered.
  template <class T>
  Result<T> checked(Result<T> result) {
    if (!result) update();
    return result;
  }
  /// Opens the gate if the catalog on disk is certain and the data directory is in its place, else
  /// closes it. Called now and then.
  void update() QV_EXCLUDES(mutex_);

 private:
  std::unique_ptr<storage::LockFile> lock_;
  std::unique_ptr<storage::Catalog> catalog_;
  const std::shared_ptr<WriteGate> writes_ = std::make_shared<WriteGate>();
  void keep_copy() QV_REQUIRES(mutex_);

  Mutex mutex_;  ///< one `update` at a time
  bool copy_failed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::engine
