// Keeps RocksDB 7.8 from removing a file that its manifest may name.
//
// An ingestion links the file into the store and then records it in the manifest. If that record
// cannot be synced, RocksDB removes the link (ExternalSstFileIngestionJob::Cleanup), but the record
// may be found at the next opening, which then fails for good. While a `KeptFiles` lives, table
// files that its thread removes stay; a file that no manifest names is removed at the next opening.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <string>
#include <vector>

namespace quiver::storage {

class KeptFiles {
 public:
  KeptFiles();
  ~KeptFiles();
  KeptFiles(const KeptFiles&) = delete;
  KeptFiles& operator=(const KeptFiles&) = delete;

  /// Removes them after all.
  void remove(rocksdb::FileSystem& files);

  /// `base` with that exception. For every store.
  static std::shared_ptr<rocksdb::FileSystem> wrap(std::shared_ptr<rocksdb::FileSystem> base);

 private:
  class FileSystem;

  std::vector<std::string> paths_;
};

}  // namespace quiver::storage
