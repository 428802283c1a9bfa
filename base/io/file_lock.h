// A lock file with one holder at a time, in any process, container or machine.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace quiver {

/// Holds a `flock` on a file while it lives. The kernel releases it when the process ends, however
/// it ends. The lock belongs to the file, so it survives a rename of a parent directory.
class FileLock {
 public:
  /// Creates `path` if needed; nullopt if another holder has the lock. The parent directory must
  /// exist.
  [[nodiscard]] static Result<std::optional<FileLock>> try_lock(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  /// Descriptor of the locked file, for reading and writing it.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace quiver
