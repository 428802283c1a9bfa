// A sorted file of rows beside a shard store, written without its log and memory.
// `ShardStore::ingest` makes it part of the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "storage/rows/runtime.h"

namespace quiver::storage {

/// Suffix of the names of row files.
inline constexpr std::string_view kRowFileSuffix = ".rows";

/// Written front to back by one thread. Uses about 2 MiB of memory. An unfinished file stays on
/// disk and is never used.
class RowFileWriter {
 public:
  /// `path` is in the store's directory. Nothing is created before the first row.
  RowFileWriter(std::string path, std::shared_ptr<const Runtime> runtime);
  ~RowFileWriter();
  RowFileWriter(const RowFileWriter&) = delete;
  RowFileWriter& operator=(const RowFileWriter&) = delete;

  /// Ids must ascend strictly.
  Result<> add(const PointId& id, std::string_view row);
  /// Returns when the file and its name are on stable storage. Call once, after at least one row.
  Result<> finish();

 private:
  class Impl;
  Result<> open(std::size_t row_bytes);

  const std::string path_;
  const std::shared_ptr<const Runtime> runtime_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quiver::storage
