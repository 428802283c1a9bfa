#include "dataset/streams/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/io/file.h"

namespace quiver::dataset {
namespace {

constexpr std::size_t kBytesPerSkip = std::size_t{1} << 18;

/// A regular file, read as it is.
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
  const std::string_view kind = unpacked_name(path()) == path() ? "" : " (decompressed)";
  return Error(code, fmt::format("{}: {}byte {}{}: {}", path(), where, byte, kind, text));
}

Result<> ByteSource::seek(std::uint64_t position) {
  std::vector<std::byte> skipped(std::min<std::uint64_t>(kBytesPerSkip, position - position_));
  while (position_ < position) {
    const auto n = std::min<std::uint64_t>(skipped.size(), position - position_);
    QV_TRY(const std::size_t n_read, read(std::span(skipped).first(n)));
    if (n_read < n) break;
  }
  return {};
}

std::string_view unpacked_name(std::string_view path) {
  for (const std::string_view ending : {".zst", ".gz"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

std::optional<std::string> existing_path(const std::string& path) {
  for (const std::string_view name : {std::string_view(path), unpacked_name(path)}) {
    for (const char* ending : {"", ".zst", ".gz"}) {
      std::string candidate = fmt::format("{}{}", name, ending);
      struct stat status;
      if (::stat(candidate.c_str(), &status) == 0) return candidate;
    }
  }
  return std::nullopt;
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& name) {
  const std::string path = existing_path(name).value_or(name);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(file_error(errno, "open", path));
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return fail(Code::kInvalidArgument, path + ": is no regular file");
  }
  auto file =
      std::make_unique<FileSource>(path, descriptor, static_cast<std::uint64_t>(status.st_size));
  if (path.ends_with(".zst")) return unzstd(std::move(file));
  if (path.ends_with(".gz")) return gunzipped(std::move(file));
  return file;
}

}  // namespace quiver::dataset
