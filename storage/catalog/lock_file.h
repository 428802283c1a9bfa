// Allows one process per data directory.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/io/file_lock.h"
#include "base/result.h"

namespace quiver::storage {

/// A locked file that names its holder. Old contents are harmless, because the lock ends with the
/// process.
class LockFile {
 public:
  /// Creates `path` if needed, locks it and writes this process's id into it. kUnavailable "data
  /// directory X is in use by process PID" if another process holds the lock.
  static Result<std::unique_ptr<LockFile>> acquire(const std::string& path);
  /// kUnavailable if `path` is no longer the locked file: the directory was removed or replaced.
  [[nodiscard]] Result<> check_place() const;
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  LockFile(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  FileLock lock_;
};

}  // namespace quiver::storage
