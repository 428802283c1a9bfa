#include "base/io/file_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/io/descriptor.h"
#include "base/io/file.h"

namespace quiver {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
/// Of a file that is only read. Fits the L2 cache, and takes about 0.05 ms with two checksums.
constexpr std::size_t kReadPieceBytes = std::size_t{64} << 10;
/// How far the disk reads ahead of a copy. The kernel's own 128 KiB leave it idle while a piece is
/// written.
constexpr std::size_t kReadAheadBytes = std::size_t{16} << 20;

tl::unexpected<Error> tree_error(const std::error_code& error, std::string_view operation,
                                 const std::string& path) {
  return fail(file_error(error.value(), operation, path));
}

Result<std::size_t> read_some(int fd, std::uint64_t offset, std::span<char> out,
                              const std::string& path) {
  std::size_t n = 0;
  while (n < out.size()) {
    const ssize_t got = ::pread(fd, out.data() + n, out.size() - n, static_cast<off_t>(offset + n));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(read_error(errno, "read", path));
    if (got == 0) break;
    n += static_cast<std::size_t>(got);
  }
  return n;
}

Result<> write_all(int fd, std::span<const char> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(file_error(errno, "write", path));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

/// A hint: the disk begins to read.
void read_ahead(int fd, std::uint64_t offset, std::uint64_t n_bytes) {
  ::posix_fadvise(fd, static_cast<off_t>(offset), static_cast<off_t>(n_bytes), POSIX_FADV_WILLNEED);
}

/// Called before each piece is written.
using Visit = std::function<Result<>(std::span<const std::byte>)>;

struct CopyPaths {
  const std::string& from;
  const std::string& to;
};

Result<> copy_bytes(int from, int to, std::uint64_t n_bytes, const CopyPaths& paths,
                    const Visit& visit) {
  std::vector<char> piece(std::min<std::uint64_t>(kPieceBytes, n_bytes));
  read_ahead(from, 0, std::min<std::uint64_t>(kReadAheadBytes, n_bytes));
  for (std::uint64_t at = 0; at < n_bytes;) {
    const auto wanted = std::span(piece).first(std::min<std::uint64_t>(piece.size(), n_bytes - at));
    read_ahead(from, at + kReadAheadBytes, wanted.size());
    QV_TRY(const std::size_t n, read_some(from, at, wanted, paths.from));
    if (n < wanted.size()) return fail(file_ends_early(paths.from, n_bytes, at + n));
    QV_TRY(visit(std::as_bytes(wanted)));
    QV_TRY(write_all(to, wanted, paths.to));
    // A hint: the disk writes while the next piece is read.
    ::sync_file_range(to, static_cast<off_t>(at), static_cast<off_t>(n), SYNC_FILE_RANGE_WRITE);
    at += n;
  }
  return {};
}

/// What `link` says where a file system has no hard links, or no more for this file.
bool can_only_copy(int error) {
  return error == EXDEV || error == EPERM || error == EMLINK || error == ENOTSUP;
}

}  // namespace

Result<std::vector<TreeFile>> files_below(const std::string& root) {
  std::vector<TreeFile> files;
  std::error_code error;
  fs::recursive_directory_iterator it(root, error);
  if (error) return tree_error(error, "list", root);
  for (const fs::recursive_directory_iterator end; it != end; it.increment(error)) {
    const auto status = it->symlink_status(error);
    if (error) return tree_error(error, "look at", it->path());
    if (fs::is_directory(status)) continue;
    if (!fs::is_regular_file(status)) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("`{}` is neither a file nor a directory", it->path().string()));
    }
    const std::uint64_t size = it->file_size(error);
    if (error) return tree_error(error, "look at", it->path());
    files.push_back({fs::relative(it->path(), root, error).generic_string(), size});
  }
  if (error) return tree_error(error, "list", root);
  std::ranges::sort(files, {}, &TreeFile::path);
  return files;
}

Result<> make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return tree_error(error, "create", path);
  return {};
}

Result<> remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return tree_error(error, "remove", path);
  return {};
}

Result<bool> rename_tree(const std::string& from, const std::string& to) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error))) {
    return fail(Code::kAlreadyExists, fmt::format("`{}` exists already", to));
  }
  fs::rename(from, to, error);
  if (error.value() == EXDEV) return false;
  if (error) return tree_error(error, "rename", from);
  return true;
}

Result<> link_file(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  return fail(file_error(errno, "link", errno == EEXIST ? to : from));
}

Result<> copy_file(const std::string& from, const std::string& to,
                   std::optional<std::uint64_t> n_bytes) {
  std::error_code error;
  const std::uint64_t size = n_bytes ? *n_bytes : fs::file_size(from, error);
  if (error) return tree_error(error, "look at", from);
  QV_TRY(copy_unsynced(from, to, size, [](std::span<const std::byte>) { return Result<>(); }));
  return sync_file(to);
}

Result<> copy_unsynced(const std::string& from, const std::string& to, std::uint64_t n_bytes,
                       const Visit& visit) {
  const Descriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (in.get() < 0) return fail(file_error(errno, "open", from));
  const Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (out.get() < 0) return fail(file_error(errno, "create", to));
  ::posix_fadvise(in.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return copy_bytes(in.get(), out.get(), n_bytes, {from, to}, visit);
}

Result<> sync_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) return fail(file_error(errno, "open", path));
  if (::fsync(file.get()) != 0) return fail(file_error(errno, "sync", path));
  return {};
}

Result<> link_or_copy_file(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  if (can_only_copy(errno)) return copy_file(from, to);
  return fail(file_error(errno, "link", errno == EEXIST ? to : from));
}

Result<> sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return fail(file_error(errno, "open", path));
  if (::fsync(directory.get()) != 0) return fail(file_error(errno, "sync", path));
  return {};
}

Result<> sync_tree(const std::string& root) {
  std::error_code error;
  fs::recursive_directory_iterator it(root, error);
  if (error) return tree_error(error, "list", root);
  for (const fs::recursive_directory_iterator end; it != end; it.increment(error)) {
    if (it->is_directory(error)) QV_TRY(sync_directory(it->path()));
  }
  if (error) return tree_error(error, "list", root);
  return sync_directory(root);
}

Result<> read_whole_file(const std::string& path, std::uint64_t size_bytes,
                         const std::function<Result<>(std::span<const std::byte>)>& visit) {
  QV_TRY(const auto file, FileReader::open(path));
  file.advise_sequential();
  std::vector<char> piece(kReadPieceBytes);
  std::uint64_t at = 0;
  while (true) {
    QV_TRY(const std::size_t n, file.read(at, piece));
    if (n == 0) break;
    at += n;
    QV_TRY(visit(std::as_bytes(std::span(piece).first(n))));
  }
  if (at == size_bytes) return {};
  return fail(Code::kDataLoss, fmt::format("`{}` has {} bytes, wanted {}", path, at, size_bytes));
}

Result<FileReader> FileReader::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return fail(file_error(errno, "open", path));
  return FileReader(fd, path);
}

FileReader::FileReader(FileReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

FileReader::~FileReader() {
  if (fd_ >= 0) ::close(fd_);
}

void FileReader::advise_sequential() const { ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL); }

Result<std::size_t> FileReader::read(std::uint64_t offset, std::span<char> out) const {
  return read_some(fd_, offset, out, path_);
}

}  // namespace quiver
