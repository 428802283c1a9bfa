#include "storage/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/file.h"

namespace quiver::storage {

namespace {

/// What the holder wrote, if it looks like a process id.
std::string read_holder(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t n = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string_view found(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::string_view digits = found.substr(0, found.find_first_not_of("0123456789"));
  return digits.empty() ? std::string("(unknown)") : std::string(digits);
}

Error in_use(int descriptor, const std::string& path) {
  auto directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  return Error(Code::kUnavailable, fmt::format("data directory {} is in use by process {}",
                                               directory, read_holder(descriptor)));
}

Result<> write_holder(int descriptor, const std::string& path) {
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(descriptor, 0) != 0) return fail(file_error(errno, "truncate", path));
  const ssize_t n = ::pwrite(descriptor, text.data(), text.size(), 0);
  if (n != static_cast<ssize_t>(text.size())) {
    return fail(file_error(n < 0 ? errno : ENOSPC, "write", path));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LockFile>> LockFile::acquire(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return fail(file_error(errno, "open", path));
  auto lock = std::unique_ptr<LockFile>(new LockFile(descriptor));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(in_use(descriptor, path));
    return fail(file_error(errno, "lock", path));
  }
  QV_TRY(write_holder(descriptor, path));
  return lock;
}

LockFile::~LockFile() { ::close(descriptor_); }

}  // namespace quiver::storage
