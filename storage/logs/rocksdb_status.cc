#include "storage/logs/rocksdb_status.h"

#include <fmt/format.h>

#include <string>

namespace quiver::storage {

namespace {

/// RocksDB marks ENOSPC, but not EDQUOT, and drops the mark in later reports.
bool is_disk_full(const rocksdb::Status& status, std::string_view text) {
  return status.IsNoSpace() || text.find("No space left on device") != text.npos ||
         text.find("Disk quota exceeded") != text.npos;
}

/// RocksDB reports calls that fail while a store is opened as wrong options, which ours are not.
bool is_failed_opening(const rocksdb::Status& status, std::string_view operation) {
  return status.IsInvalidArgument() && operation == "open";
}

Code code_of(const rocksdb::Status& status, std::string_view operation) {
  if (status.IsCorruption()) return Code::kDataLoss;
  if (status.IsIOError() || status.IsBusy() || status.IsTryAgain() || status.IsTimedOut() ||
      status.IsShutdownInProgress() || status.IsIncomplete() ||
      is_failed_opening(status, operation) ||
      status.IsNotSupported()) {  // by a store that is open for reading only, until there is space
    return Code::kUnavailable;
  }
  return Code::kInternal;
}

}  // namespace

Error to_error(const rocksdb::Status& status, std::string_view operation, std::string_view path) {
  const std::string text = status.ToString();
  if (is_disk_full(status, text)) {
    return Error(Code::kResourceExhausted, Subject::kDisk, std::string(path),
                 fmt::format("no space left on device: cannot {} `{}`: {}", operation, path, text));
  }
  return Error(code_of(status, operation),
               fmt::format("cannot {} `{}`: {}", operation, path, text));
}

}  // namespace quiver::storage
