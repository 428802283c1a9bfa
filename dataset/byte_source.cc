#include "dataset/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"

namespace quiver::dataset {
namespace {

constexpr std::string_view kZst = ".zst";

/// A regular file as it lies there.
class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, int descriptor, std::uint64_t size)
      : ByteSource(std::move(path)), descriptor_(descriptor), size_(size) {
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~FileSource() override { ::close(descriptor_); }

  std::optional<std::uint64_t> size() const override { return size_; }

  Result<std::size_t> read(std::span<std::byte> out) override {
    std::size_t n_read = 0;
    while (n_read < out.size()) {
      const ssize_t n = ::pread(descriptor_, out.data() + n_read, out.size() - n_read,
                                static_cast<off_t>(position_));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(file_error(errno, "read", path()));
      if (n == 0) break;
      n_read += static_cast<std::size_t>(n);
      position_ += static_cast<std::uint64_t>(n);
    }
    return n_read;
  }

  Result<> seek(std::uint64_t position) override {
    position_ = std::min(position, size_);
    return {};
  }

 private:
  const int descriptor_;
  const std::uint64_t size_;
};

}  // namespace

Error ByteSource::error(Code code, std::optional<std::uint64_t> row, std::uint64_t byte,
                        std::string_view text) const {
  const std::string where = row ? fmt::format("row {}, ", *row) : std::string();
  const std::string_view kind = path().ends_with(kZst) ? " (decompressed)" : "";
  return Error(code, fmt::format("{}: {}byte {}{}: {}", path(), where, byte, kind, text));
}

std::string_view without_zst(std::string_view path) {
  if (path.ends_with(kZst)) path.remove_suffix(kZst.size());
  return path;
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(file_error(errno, "open", path));
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return fail(Code::kInvalidArgument, path + ": is no regular file");
  }
  auto file =
      std::make_unique<FileSource>(path, descriptor, static_cast<std::uint64_t>(status.st_size));
  if (!path.ends_with(kZst)) return file;
  return decompressed(std::move(file));
}

}  // namespace quiver::dataset
