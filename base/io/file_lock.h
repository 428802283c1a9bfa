// One holder of a file at a time, whatever process, container or machine it is in.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace quiver {

/// Holds a file locked (`flock`) for as long as it lives; the kernel releases it when the process
/// ends, however it ends. The lock is the file's: it stays when a directory above it is renamed.
class FileLock {
 public:
  /// Creates `path` if need be; nullopt if another holder has it. The directory of `path` exists.
  [[nodiscard]] static Result<std::optional<FileLock>> try_lock(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  /// Of the open file, to read and write it.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace quiver
