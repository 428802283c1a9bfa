#include "dataset/streams/byte_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/io/file.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

Result<> write_all(int descriptor, std::span<const std::byte> bytes, std::uint64_t offset,
                   const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error(errno, "write", path));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<FileSink>> FileSink::create(const std::string& path, IfExists if_exists) {
  if (if_exists == IfExists::kFail && ::access(path.c_str(), F_OK) == 0) {
    return fail(file_error(EEXIST, "create", path));
  }
  const std::string partial = path + ".partial";
  const int descriptor = ::open(partial.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(file_error(errno, "create", partial));
  return std::unique_ptr<FileSink>(new FileSink(path, descriptor));
}

FileSink::~FileSink() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial().c_str());
}

Result<> FileSink::append(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return buffer_.size() < kBufferBytes ? Result<>() : flush();
}

Result<> FileSink::flush() {
  QV_TRY(write_all(descriptor_, buffer_, n_written_, partial()));
  n_written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<> FileSink::overwrite_header(std::span<const std::byte> bytes) {
  QV_TRY(flush());
  return write_all(descriptor_, bytes, 0, partial());
}

Result<> FileSink::copy_to(ByteSink& other) {
  QV_TRY(flush());
  std::vector<std::byte> bytes(kBufferBytes);
  for (std::uint64_t offset = 0; offset < n_written_;) {
    const ssize_t n = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(file_error(n < 0 ? errno : EIO, "read", partial()));
    QV_TRY(other.append(std::span(bytes).first(static_cast<std::size_t>(n))));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<> FileSink::finish() {
  QV_TRY(flush());
  if (::fsync(descriptor_) != 0) return fail(file_error(errno, "sync", partial()));
  if (::rename(partial().c_str(), path_.c_str()) != 0) {
    return fail(file_error(errno, "rename", partial()));
  }
  ::close(std::exchange(descriptor_, -1));
  return {};
}

Result<std::unique_ptr<ByteSink>> create_bytes(const std::string& path, IfExists if_exists) {
  if (path.ends_with(".gz")) {
    return fail(Code::kInvalidArgument, path + ": wanted a plain name or .zst, found .gz");
  }
  QV_TRY(std::unique_ptr<ByteSink> file, FileSink::create(path, if_exists));
  if (unpacked_name(path) == path) return file;
  return compressing(std::move(file));
}

}  // namespace quiver::dataset
