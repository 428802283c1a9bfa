// Converts RocksDB's status to an Error.
#pragma once

#include <rocksdb/status.h>

#include <string_view>

#include "base/result.h"

namespace quiver::storage {

/// `status` is not ok; `operation` was tried on the store at `path`.
[[nodiscard]] Error to_error(const rocksdb::Status& status, std::string_view operation,
                             std::string_view path);

[[nodiscard]] inline Result<> to_result(const rocksdb::Status& status, std::string_view operation,
                                        std::string_view path) {
  if (status.ok()) return {};
  return fail(to_error(status, operation, path));
}

}  // namespace quiver::storage
