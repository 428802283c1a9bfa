#include "storage/catalog/lock_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/io/file.h"
#include "base/observe/log.h"

namespace quiver::storage {

namespace {

/// The holder's process id from the file; empty if the contents are no process id.
std::string read_holder(const std::string& path) {
  std::string found;
  std::getline(std::ifstream(path), found);
  const std::string digits = found.substr(0, found.find_first_not_of("0123456789"));
  return digits.empty() ? "(unknown)" : digits;
}

Error in_use(const std::string& path) {
  auto directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  return Error(Code::kUnavailable, fmt::format("data directory {} is in use by process {}",
                                               directory, read_holder(path)));
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
  QV_TRY(auto lock, FileLock::try_lock(path));
  if (!lock) return fail(in_use(path));
  if (auto written = write_holder(lock->descriptor(), path); !written) {
    // The holder's id is for messages only, and a full disk can still be read.
    if (written.error().code() != Code::kResourceExhausted) return fail(written.error());
    log_warning("{}", written.error().message());
  }
  return std::unique_ptr<LockFile>(new LockFile(path, *std::move(lock)));
}

Result<> LockFile::check_place() const {
  struct stat held {};
  struct stat found {};
  const bool is_there = ::stat(path_.c_str(), &found) == 0;
  if (::fstat(lock_.descriptor(), &held) == 0 && is_there && held.st_dev == found.st_dev &&
      held.st_ino == found.st_ino) {
    return {};
  }
  return fail(Code::kUnavailable,
              fmt::format("`{}` was {} while the server runs: put the data directory back", path_,
                          is_there ? "replaced" : "removed"));
}

}  // namespace quiver::storage
