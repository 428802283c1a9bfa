// Whole trees of files: listed, hard linked, copied, made durable. Paths are of the real file
// system.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quiver {

class Directory;

struct TreeFile {
  std::string path;  ///< relative, with '/'
  std::uint64_t size_bytes = 0;
  bool operator==(const TreeFile&) const = default;
};

/// The files below `root`, by path. kFailedPrecondition for anything but files and directories.
[[nodiscard]] Result<std::vector<TreeFile>> files_below(const std::string& root);

/// As `open_real_directory`, but kNotFound if there is no directory at `path`.
[[nodiscard]] Result<std::unique_ptr<Directory>> open_existing_directory(const std::string& path);

/// Creates the directory and its parents. Durable after `sync_tree` of the highest one.
[[nodiscard]] Result<> make_directories(const std::string& path);
[[nodiscard]] Result<> remove_tree(const std::string& path);
/// kAlreadyExists if `to` exists. False if the two are on different file systems.
[[nodiscard]] Result<bool> rename_tree(const std::string& from, const std::string& to);

/// kAlreadyExists if `to` exists; kNotFound if `from` is gone.
[[nodiscard]] Result<> link_file(const std::string& from, const std::string& to);
/// Copies the first `n_bytes` (nullopt: all) and syncs the copy. kDataLoss if there are fewer.
[[nodiscard]] Result<> copy_file(const std::string& from, const std::string& to,
                                 std::optional<std::uint64_t> n_bytes = std::nullopt);
/// As `copy_file`, without the sync: the disk begins to write, but `sync_file` must follow. Calls
/// `visit` with the bytes, piece by piece, before they are written; its error ends the copy.
[[nodiscard]] Result<> copy_unsynced(
    const std::string& from, const std::string& to, std::uint64_t n_bytes,
    const std::function<Result<>(std::span<const std::byte>)>& visit);
[[nodiscard]] Result<> sync_file(const std::string& path);
/// Links, or copies where the file system cannot link.
[[nodiscard]] Result<> link_or_copy_file(const std::string& from, const std::string& to);

/// Makes the names in `path` durable.
[[nodiscard]] Result<> sync_directory(const std::string& path);
/// Makes the names in `root` and in all directories below it durable.
[[nodiscard]] Result<> sync_tree(const std::string& root);

/// Calls `visit` with the bytes of a file, in pieces of 64 KiB at most. kDataLoss unless it has
/// `size_bytes`.
[[nodiscard]] Result<> read_whole_file(
    const std::string& path, std::uint64_t size_bytes,
    const std::function<Result<>(std::span<const std::byte>)>& visit);

/// An open file that is read anywhere. One thread.
class FileReader {
 public:
  [[nodiscard]] static Result<FileReader> open(const std::string& path);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  ~FileReader();

  /// A hint to the page cache: the file is read front to back.
  void advise_sequential() const;
  /// Returns the number of bytes read; fewer than `out` only at the end of the file.
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, std::span<char> out) const;

 private:
  FileReader(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

}  // namespace quiver
