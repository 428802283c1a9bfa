// The files of a store, held by hard links in another directory, so that the store can go on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace rocksdb {
class DB;
}

namespace quiver::storage {

/// Tables and blobs never change, so a link is a copy. Logs and the manifest grow: their links get
/// a passing name, and `finish` copies the bytes that they had when the links were made. It also
/// writes the small files that RocksDB replaces.
class StoreLinks {
 public:
  /// Completes the directory, which then is a store of its own. Durable on return, except for the
  /// directory's own name. Writes to the store may go on meanwhile.
  Result<> finish();

 private:
  friend Result<StoreLinks> link_store(rocksdb::DB& db, const std::string& path,
                                       const std::string& target);
  struct Growing {
    std::string name;
    std::uint64_t size_bytes = 0;
  };
  struct Small {
    std::string name;
    std::string contents;
  };
  explicit StoreLinks(std::string target) : target_(std::move(target)) {}

  std::string target_;
  std::vector<Growing> growing_;
  std::vector<Small> small_;
};

/// `path`: of the store. For ShardStore.
Result<StoreLinks> link_store(rocksdb::DB& db, const std::string& path, const std::string& target);

}  // namespace quiver::storage
