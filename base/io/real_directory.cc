// Directories of the operating system.

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/io/descriptor.h"
#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "base/io/huge_pages.h"
#include "base/io/mapped_region.h"
#include "base/io/write_watch.h"
#include "base/mutex.h"

namespace quiver {
namespace {

namespace fs = std::filesystem;

struct CloseDirectory {
  void operator()(DIR* stream) const { (void)::closedir(stream); }
};

int open_retrying(const std::string& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

Result<> sync_directory(const std::string& path) {
  const Descriptor directory(open_retrying(path, O_RDONLY | O_DIRECTORY));
  if (!directory.is_open()) return fail(file_error(errno, "open directory", path));
  if (::fsync(directory.get()) != 0) return fail(file_error(errno, "sync directory", path));
  return {};
}

class RealMappedFile final : public MappedFile {
 public:
  RealMappedFile(Bytes bytes, std::string path)
      : MappedFile(bytes), region_(address(), bytes.size()), path_(std::move(path)) {}
  ~RealMappedFile() override {
    // Both before the region is unmapped.
    watch_.reset();
    if (copy_ != nullptr) copy_->forget();
  }
  [[nodiscard]] bool is_damaged() const override { return region_.is_damaged(); }
  void watch_writes() const override {
    MutexLock lock(mutex_);
    if (!watch_ && !bytes_.empty()) watch_.emplace(path_, address());
  }
  void advise_sequential() const override { advise(MADV_SEQUENTIAL); }
  void advise_random() const override { advise(MADV_RANDOM); }
  void advise_willneed() const override { advise(MADV_WILLNEED); }
  bool hold_in_huge_pages() const override {
    MutexLock lock(mutex_);
    if (copy_ != nullptr || bytes_.empty()) return copy_ != nullptr;
    copy_ = HugePageCopy::put(address(), bytes_.size());
    return copy_ != nullptr;
  }
  Result<> place(Bytes range, MemoryPlacement placement) const override {
    const Bytes pages = whole_pages(range);
    if (pages.empty()) return {};
    MutexLock lock(mutex_);
    const auto [found, is_new] = placed_.try_emplace(pages.data(), MemoryPlacement::kCached);
    MemoryPlacement& now = found->second;
    if (now == placement) return {};
    if (placement == MemoryPlacement::kCold && copy_ != nullptr) {
      QV_TRY(copy_->end());
      copy_.reset();
    }
    void* begin = const_cast<std::byte*>(pages.data());
    if (now == MemoryPlacement::kPinned) (void)::munlock(begin, pages.size());
    if (now == MemoryPlacement::kCold) (void)::madvise(begin, pages.size(), MADV_NORMAL);
    now = MemoryPlacement::kCached;
    if (placement == MemoryPlacement::kPinned) {
      if (copy_ != nullptr) copy_->keep();
      QV_TRY(pin(begin, pages.size()));
    }
    if (placement == MemoryPlacement::kCold) cool(begin, pages);
    now = placement;
    return {};
  }

 private:
  /// The last page of the file counts as whole.
  [[nodiscard]] Bytes whole_pages(Bytes range) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto first = static_cast<std::size_t>(range.data() - bytes_.data());
    const std::size_t begin = (first + page - 1) / page * page;
    std::size_t end = first + range.size();
    if (end != bytes_.size()) end = end / page * page;
    return begin < end ? bytes_.subspan(begin, end - begin) : Bytes();
  }
  Result<> pin(void* begin, std::size_t size) const {
    if (::mlock(begin, size) == 0) return {};
    const int error = errno;
    (void)::munlock(begin, size);  // some pages may be locked
    return fail(Code::kResourceExhausted,
                fmt::format("{} bytes of {} cannot be locked in memory: {}", size, path_,
                            std::strerror(error)));
  }
  /// Pages that others have mapped, too, may stay. A moved file keeps its cached pages.
  void cool(void* begin, Bytes pages) const {
    (void)::madvise(begin, pages.size(), MADV_RANDOM);
    (void)::madvise(begin, pages.size(), MADV_DONTNEED);
    const Descriptor file(open_retrying(path_, O_RDONLY));
    if (!file.is_open()) return;
    (void)::posix_fadvise(file.get(), pages.data() - bytes_.data(),
                          static_cast<off_t>(pages.size()), POSIX_FADV_DONTNEED);
  }
  [[nodiscard]] void* address() const { return const_cast<std::byte*>(bytes_.data()); }
  void advise(int advice) const {
    if (!bytes_.empty())
      (void)::madvise(address(), bytes_.size(), advice);  // a hint, so errors are ignored
  }

  MappedRegion region_;
  const std::string path_;  ///< when the file was opened
  mutable Mutex mutex_;
  mutable std::optional<WriteWatch> watch_ QV_GUARDED_BY(mutex_);
  mutable std::shared_ptr<HugePageCopy> copy_ QV_GUARDED_BY(mutex_);  ///< if it is held in them
  mutable std::map<const std::byte*, MemoryPlacement> placed_ QV_GUARDED_BY(mutex_);
};

class RealReadableFile final : public ReadableFile {
 public:
  RealReadableFile(int fd, std::size_t size, std::string path)
      : file_(fd), size_(size), path_(std::move(path)) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  Result<> read(std::uint64_t offset, std::span<std::byte> out) override {
    while (!out.empty()) {
      const ssize_t n = ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(read_error(errno, "read", path_));
      if (n == 0) return fail(file_ends_early(path_, offset + out.size(), offset));
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

 private:
  Result<std::shared_ptr<const MappedFile>> map_whole() override {
    if (size_ == 0) return std::make_shared<const RealMappedFile>(Bytes{}, path_);
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (address == MAP_FAILED) return fail(read_error(errno, "map", path_));
    const Bytes bytes(static_cast<const std::byte*>(address), size_);
    try {
      return std::make_shared<const RealMappedFile>(bytes, path_);
    } catch (...) {
      ::munmap(address, size_);
      throw;
    }
  }

  Descriptor file_;
  std::size_t size_;
  std::string path_;
};

class RealWritableFile final : public WritableFile {
 public:
  RealWritableFile(int fd, std::string path) : file_(fd), path_(std::move(path)) {}

  Result<> append(Bytes bytes) override {
    QV_TRY(check_open("append to"));
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(file_error(errno, "append to", path_));
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      n_written_ += n;
    }
    write_behind();
    return {};
  }
  Result<> sync() override {
    QV_TRY(check_open("sync"));
    if (::fsync(file_.get()) != 0) return fail(file_error(errno, "sync", path_));
    return {};
  }
  Result<> close() override {
    QV_TRY(check_open("close"));
    if (file_.close() != 0) return fail(file_error(errno, "close", path_));
    return {};
  }

 private:
  /// Starts writing to disk while a large file is still being made, so that `sync` finds little
  /// left.
  void write_behind() {
    constexpr off_t kBytes = 8 << 20;
    if (n_written_ - n_started_ < kBytes) return;
    // A hint: `sync` reports errors.
    (void)::sync_file_range(file_.get(), n_started_, n_written_ - n_started_,
                            SYNC_FILE_RANGE_WRITE);
    n_started_ = n_written_;
  }
  [[nodiscard]] Result<> check_open(std::string_view operation) const {
    if (file_.is_open()) return {};
    return fail(file_error(EBADF, operation, path_));
  }

  Descriptor file_;
  std::string path_;
  off_t n_written_ = 0;
  off_t n_started_ = 0;  ///< bytes that the disk was asked to write
};

struct OpenFile {
  int fd;
  std::size_t size;
};

Result<OpenFile> open_for_reading(const std::string& path) {
  const int fd = open_retrying(path, O_RDONLY);
  if (fd < 0) return fail(read_error(errno, "open", path));
  struct stat info {};
  const int error = ::fstat(fd, &info) != 0 ? errno : S_ISREG(info.st_mode) ? 0 : EISDIR;
  if (error == 0) return OpenFile{fd, static_cast<std::size_t>(info.st_size)};
  ::close(fd);
  return fail(read_error(error, "open", path));
}

class RealDirectory final : public Directory {
 public:
  explicit RealDirectory(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const override { return path_; }

  Result<std::unique_ptr<WritableFile>> do_create_file(std::string_view name) override {
    QV_TRY(const std::string path, path_of(name));
    const int fd = open_retrying(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0) return fail(file_error(errno, "create", path));
    return std::make_unique<RealWritableFile>(fd, path);
  }

  Result<std::unique_ptr<ReadableFile>> do_open_file(std::string_view name) const override {
    QV_TRY(const std::string path, path_of(name));
    QV_TRY(const OpenFile open, open_for_reading(path));
    return std::make_unique<RealReadableFile>(open.fd, open.size, path);
  }

  Result<std::vector<std::byte>> read_file(std::string_view name) const override {
    QV_TRY(const std::string path, path_of(name));
    QV_TRY(const OpenFile open, open_for_reading(path));
    const Descriptor file(open.fd);
    std::vector<std::byte> bytes(open.size);
    std::size_t n_read = 0;
    while (n_read < bytes.size()) {
      const ssize_t n = ::read(open.fd, bytes.data() + n_read, bytes.size() - n_read);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(read_error(errno, "read", path));
      if (n == 0) break;  // the file was shortened
      n_read += static_cast<std::size_t>(n);
    }
    bytes.resize(n_read);
    return bytes;
  }

  Result<std::uint64_t> file_size(std::string_view name) const override {
    QV_TRY(const std::string path, path_of(name));
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return fail(read_error(errno, "look at", path));
    if (!S_ISREG(info.st_mode)) return fail(file_error(EISDIR, "look at", path));
    return static_cast<std::uint64_t>(info.st_size);
  }

  Result<> remove_file(std::string_view name) override {
    QV_TRY(const std::string path, path_of(name));
    if (::unlink(path.c_str()) != 0) return fail(file_error(errno, "remove", path));
    return {};
  }

  Result<> rename_file(std::string_view from, std::string_view to) override {
    QV_TRY(const std::string old_path, path_of(from));
    QV_TRY(const std::string new_path, path_of(to));
    if (::rename(old_path.c_str(), new_path.c_str()) != 0) {
      return fail(file_error(errno, fmt::format("rename to `{}`", to), old_path));
    }
    return {};
  }

  [[nodiscard]] bool exists(std::string_view name) const override {
    const auto path = path_of(name);
    struct stat info {};
    return path && ::lstat(path->c_str(), &info) == 0;
  }

  Result<std::vector<DirectoryEntry>> list() const override {
    // libstdc++'s directory_iterator ends the process when memory runs out.
    const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(path_.c_str()));
    if (stream == nullptr) return fail(read_error(errno, "list", path_));
    std::vector<DirectoryEntry> entries;
    errno = 0;
    while (const dirent* const found = ::readdir(stream.get())) {
      const std::string_view name = found->d_name;
      if (name == "." || name == "..") continue;
      struct stat info {};
      const bool is_directory =
          ::fstatat(::dirfd(stream.get()), found->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
      entries.push_back(
          {std::string(name), is_directory ? EntryKind::kDirectory : EntryKind::kFile});
      errno = 0;
    }
    if (errno != 0) return fail(read_error(errno, "list", path_));
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
  }

  Result<std::unique_ptr<Directory>> do_subdirectory(std::string_view name) override {
    QV_TRY(const std::string path, path_of(name));
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
      return fail(file_error(errno, "create directory", path));
    }
    return do_open_subdirectory(name);
  }

  Result<std::unique_ptr<Directory>> do_open_subdirectory(std::string_view name) const override {
    QV_TRY(const std::string path, path_of(name));
    QV_TRY(check_directory(path, "open directory"));
    return std::make_unique<RealDirectory>(path);
  }

  Result<> remove_subdirectory(std::string_view name) override {
    QV_TRY(const std::string path, path_of(name));
    QV_TRY(check_directory(path, "remove directory"));
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return fail(file_error(error.value(), "remove directory", path));
    return {};
  }

  Result<> rename_subdirectory(std::string_view from, std::string_view to) override {
    QV_TRY(const std::string old_path, path_of(from));
    QV_TRY(const std::string new_path, path_of(to));
    const std::string operation = fmt::format("rename to `{}` directory", to);
    QV_TRY(check_directory(old_path, operation));
    if (exists(to)) return fail(file_error(EEXIST, operation, old_path));
    if (::rename(old_path.c_str(), new_path.c_str()) != 0) {
      return fail(file_error(errno, operation, old_path));
    }
    return {};
  }

  Result<> sync() override { return sync_directory(path_); }

 private:
  [[nodiscard]] Result<std::string> path_of(std::string_view name) const {
    QV_TRY(check_file_name(name));
    return fmt::format("{}/{}", path_, name);
  }
  static Result<> check_directory(const std::string& path, std::string_view operation) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return fail(read_error(errno, operation, path));
    if (!S_ISDIR(info.st_mode)) return fail(file_error(ENOTDIR, operation, path));
    return {};
  }

  std::string path_;
};

/// Creates `path` and its parents; syncs each directory that gained a name.
Result<> create_durably(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  const fs::path parent = path.parent_path();
  if (!parent.empty()) QV_TRY(create_durably(parent));
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail(file_error(errno, "create directory", path.string()));
  }
  if (!fs::is_directory(path, error)) {
    return fail(file_error(ENOTDIR, "open directory", path.string()));
  }
  return sync_directory(parent.empty() ? "." : parent.string());
}

fs::path normal_directory(const std::string& path) {
  fs::path normal = fs::path(path).lexically_normal();
  if (!normal.has_filename() && normal.has_relative_path()) normal = normal.parent_path();
  return normal;
}

}  // namespace

Result<std::unique_ptr<Directory>> open_real_directory(const std::string& path) {
  if (path.empty()) return fail(Code::kInvalidArgument, "the path of a directory is empty");
  const fs::path normal = normal_directory(path);
  QV_TRY(create_durably(normal));
  return std::make_unique<RealDirectory>(normal.string());
}

Result<std::unique_ptr<Directory>> open_existing_directory(const std::string& path) {
  if (path.empty()) return fail(Code::kInvalidArgument, "the path of a directory is empty");
  const fs::path normal = normal_directory(path);
  std::error_code error;
  if (!fs::is_directory(normal, error)) {
    return fail(file_error(error ? error.value() : ENOTDIR, "open", path));
  }
  return std::make_unique<RealDirectory>(normal.string());
}

}  // namespace quiver
