// Keeps RocksDB 7.8 from removing a file that its manifest may name.
//
// An ingestion links the file into the store and then records it in the manifest. If that record
// cannot be synced, RocksDB removes the link (ExternalSstFileIngestionJob::Cleanup). But the next
// opening may find the record, and then it fails for good. While a `KeptFiles` lives, table files
// that its thread removes are kept. The next opening removes files that no manifest names.
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

  /// Removes the kept files.
  void remove(rocksdb::FileSystem& files);

  /// A file system like `base` that keeps files as described. Every store uses it.
  static std::shared_ptr<rocksdb::FileSystem> wrap(std::shared_ptr<rocksdb::FileSystem> base);

 private:
  class FileSystem;

  std::vector<std::string> paths_;
};

}  // namespace quiver::storage
