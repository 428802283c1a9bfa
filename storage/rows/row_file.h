// Rows on their way into a shard store past its log and its memory: a sorted file beside the
// store's own, which `ShardStore::ingest` makes part of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "storage/rows/runtime.h"

namespace quiver::storage {

/// What the names of such files end with.
inline constexpr std::string_view kRowFileSuffix = ".rows";

/// Written front to back by one thread. Memory: about 2 MiB. What is not finished stays behind as a
/// file that means nothing.
class RowFileWriter {
 public:
  /// `path` lies in the store's directory; nothing is created before the first row.
  RowFileWriter(std::string path, std::shared_ptr<const Runtime> runtime);
  ~RowFileWriter();
  RowFileWriter(const RowFileWriter&) = delete;
  RowFileWriter& operator=(const RowFileWriter&) = delete;

  /// Ids strictly ascending.
  Result<> add(const PointId& id, std::string_view row);
  /// Returns when the file and its name are on stable storage. Once, after at least one row.
  Result<> finish();

 private:
  class Impl;
  Result<> open(std::size_t row_bytes);

  const std::string path_;
  const std::shared_ptr<const Runtime> runtime_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quiver::storage
