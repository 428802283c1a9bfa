// One process per data directory.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace quiver::storage {

/// Holds a file locked (`flock`) for as long as it lives; the kernel releases it when the process
/// ends, however it ends, so content left in the file is harmless.
class LockFile {
 public:
  /// Creates `path` if need be, locks it and writes this process's id into it. kUnavailable
  /// "data directory X is in use by process PID" if another holder has it.
  static Result<std::unique_ptr<LockFile>> acquire(const std::string& path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace quiver::storage
