#include "base/file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace quiver {
namespace {

Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
      return Code::kResourceExhausted;
    default:
      return Code::kInternal;
  }
}

Result<> write_pieces(WritableFile& file, std::span<const Bytes> pieces) {
  for (const Bytes piece : pieces) QV_TRY(file.append(piece));
  QV_TRY(file.sync());
  return file.close();
}

/// 0 for what is not there (any more).
Result<std::uint64_t> own_blocks(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return static_cast<std::uint64_t>(info.st_blocks) * 512;
  if (errno == ENOENT) return 0;
  return fail(file_error(errno, "look at", path));
}

}  // namespace

Error file_error(int error_number, std::string_view operation, std::string_view path) {
  const Code code = code_of(error_number);
  if (code == Code::kResourceExhausted) {
    return {code, fmt::format("no space left on device: cannot {} `{}`", operation, path)};
  }
  return {code, fmt::format("cannot {} `{}`: {}", operation, path,
                            std::generic_category().message(error_number))};
}

Result<> check_file_name(std::string_view name) {
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
  if (plain) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("`{}` is not a file name: wanted one without `/`, not empty, not `.` or "
                          "`..`",
                          name));
}

Result<> Directory::write_file(std::string_view name, std::span<const Bytes> pieces) {
  QV_TRY(auto file, create_file(name));
  auto written = write_pieces(*file, pieces);
  if (written) return {};
  file.reset();
  (void)remove_file(name);  // the first failure is the one to tell about
  return written;
}

Result<> Directory::write_file(std::string_view name, Bytes bytes) {
  return write_file(name, std::span<const Bytes>(&bytes, 1));
}

Result<> Directory::replace_file(std::string_view name, Bytes bytes) {
  QV_TRY(check_file_name(name));
  const std::string temporary = std::string(name) + ".tmp";
  if (exists(temporary)) QV_TRY(remove_file(temporary));  // left by a crash
  QV_TRY(write_file(temporary, bytes));
  if (auto renamed = rename_file(temporary, name); !renamed) {
    (void)remove_file(temporary);
    return renamed;
  }
  return sync();
}

Result<std::uint64_t> allocated_bytes(const std::string& path) {
  namespace fs = std::filesystem;
  QV_TRY(std::uint64_t total, own_blocks(path));
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) return total;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    QV_TRY(const std::uint64_t below, allocated_bytes(it->path().string()));
    total += below;
  }
  if (error && error.value() != ENOENT) return fail(file_error(error.value(), "list", path));
  return total;
}

}  // namespace quiver
