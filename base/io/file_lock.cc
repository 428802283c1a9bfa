#include "base/io/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/io/file.h"

namespace quiver {

Result<std::optional<FileLock>> FileLock::try_lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return fail(file_error(errno, "open", path));
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return std::optional(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<FileLock>();
  return fail(file_error(errno, "lock", path));
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace quiver
