#include "base/io/file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/hash.h"

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
    // The disk, or the system for lack of something: the same call may succeed later.
    case EIO:
    case EUCLEAN:
    case EBADMSG:
    case EROFS:
    case ENODEV:
    case ENXIO:
    case ESTALE:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
    case EBUSY:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

/// True if the disk failed, or the file system found itself or a checksum damaged.
bool is_damage(int error_number) {
  return error_number == EIO || error_number == EUCLEAN || error_number == EBADMSG;
}

constexpr std::string_view kDraftEnding = ".tmp";

std::string_view final_name(std::string_view name) {
  if (name.ends_with(kDraftEnding)) name.remove_suffix(kDraftEnding.size());
  return name;
}

Result<> write_pieces(WritableFile& file, std::span<const Bytes> pieces) {
  for (const Bytes piece : pieces) QV_TRY(file.append(piece));
  QV_TRY(file.sync());
  return file.close();
}

/// Bytes allocated to `path` itself; 0 if it does not exist.
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
    return {code, Subject::kDisk, std::string(path),
            fmt::format("no space left on device: cannot {} `{}`", operation, path)};
  }
  return {code, fmt::format("cannot {} `{}`: {}", operation, path,
                            std::generic_category().message(error_number))};
}

Error read_error(int error_number, std::string_view operation, std::string_view path) {
  Error error = file_error(error_number, operation, path);
  return is_damage(error_number) ? Error(Code::kDataLoss, error.message()) : error;
}

Error file_ends_early(std::string_view path, std::uint64_t wanted, std::uint64_t found) {
  return {Code::kDataLoss,
          fmt::format("cannot read `{}` up to byte {}: it ends at byte {}", path, wanted, found)};
}

Result<> check_file_name(std::string_view name) {
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
  if (plain) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("`{}` is not a file name: it must not be empty, `.` or `..`, nor contain `/`",
                  name));
}

std::string describe_origin(const FileOrigin& found, const FileOrigin& wanted) {
  if (found.owner != wanted.owner) {
    return fmt::format("it was written by another owner: {:016x}, expected {:016x}", found.owner,
                       wanted.owner);
  }
  return fmt::format("it was written under another path: hash {:016x}, expected {:016x}",
                     found.path, wanted.path);
}

void MappedFiles::add(std::string path, std::shared_ptr<const MappedFile> file) {
  files_.push_back({std::move(path), std::move(file)});
}

Result<> MappedFiles::check() const {
  for (const auto& [path, file] : files_) {
    if (!file->is_damaged()) continue;
    return fail(Code::kUnavailable,
                fmt::format("`{}` could not be read any more while it was in use", path));
  }
  return {};
}

Result<> MappedFile::place(Bytes /*range*/, MemoryPlacement /*placement*/) const { return {}; }

Result<> MappedFiles::place(MemoryPlacement placement) const {
  Result<> first;
  for (const auto& [path, file] : files_) {
    auto placed = file->place(file->bytes(), placement);
    if (!placed && first) first = std::move(placed);
  }
  return first;
}

Result<std::shared_ptr<const MappedFile>> ReadableFile::map() {
  QV_TRY(auto mapped, map_whole());
  if (watch_ != nullptr) watch_->add(path_, mapped);
  return mapped;
}

Result<std::unique_ptr<WritableFile>> Directory::create_file(std::string_view name) {
  QV_TRY(auto file, do_create_file(name));
  file->origin_ = origin_of(name);
  return file;
}

Result<std::unique_ptr<ReadableFile>> Directory::open_file(std::string_view name) const {
  QV_TRY(auto file, do_open_file(name));
  file->origin_ = origin_of(name);
  file->path_ = fmt::format("{}/{}", path(), name);
  file->watch_ = watch_;
  return file;
}

Result<std::shared_ptr<const MappedFile>> Directory::open_mapped(std::string_view name) const {
  QV_TRY(const auto file, open_file(name));
  return file->map();
}

Result<std::unique_ptr<Directory>> Directory::subdirectory(std::string_view name) {
  QV_TRY(auto below, do_subdirectory(name));
  below->place_ = place_below(name);
  return below;
}

Result<std::unique_ptr<Directory>> Directory::open_subdirectory(std::string_view name) const {
  QV_TRY(auto below, do_open_subdirectory(name));
  below->place_ = place_below(name);
  return below;
}

void Directory::set_owner(std::uint64_t owner) { place_ = Place{owner, {}}; }

std::optional<FileOrigin> Directory::origin_of(std::string_view name) const {
  if (!place_) return std::nullopt;
  return FileOrigin{place_->owner, hash_text(fmt::format("{}{}", place_->path, final_name(name)))};
}

std::optional<Directory::Place> Directory::place_below(std::string_view name) const {
  if (!place_) return std::nullopt;
  return Place{place_->owner, fmt::format("{}{}/", place_->path, final_name(name))};
}

Result<> Directory::write_file(std::string_view name, std::span<const Bytes> pieces) {
  QV_TRY(auto file, create_file(name));
  auto written = write_pieces(*file, pieces);
  if (written) return {};
  file.reset();
  (void)remove_file(name);  // the first error is reported
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
