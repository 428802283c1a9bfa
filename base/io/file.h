// The only access to the file system: write-once files, atomic replacement, and the two kinds of
// sync that durability needs (a file's bytes, a directory's names).
//
// A new file is durable once the file is synced *and* its directory is synced after the creation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/shared_span.h"
#include "base/result.h"

namespace quiver {

using Bytes = std::span<const std::byte>;

[[nodiscard]] inline Bytes as_byte_span(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// How a part of a mapped file is kept in memory.
enum class MemoryPlacement : std::uint8_t {
  kCold,    ///< pages are read one by one when they are needed, and dropped once when placed
  kCached,  ///< the system decides, as for any file
  kPinned,  ///< pages are read at once and locked
};

/// A whole file, readable as memory. Immutable; any number of threads may read.
///
/// There is one exception. If the disk cannot give a page, or the file was cut short, some or all
/// of `bytes` reads as zeros from then on, and the reader goes on. Bytes read before `is_damaged`
/// was asked may be wrong. So ask it after reading, and discard every result if it says true.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Starts on a 64-byte boundary. Valid while this object lives, even if the file is removed.
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Costs a few loads. Covers everything that this thread read before the call.
  [[nodiscard]] virtual bool is_damaged() const { return false; }
  /// Damages the file if somebody writes to it from now on (base/io/write_watch.h). No effect on a
  /// directory in memory.
  virtual void watch_writes() const {}
  /// Hints to the page cache; no effect on a directory in memory.
  virtual void advise_sequential() const {}
  virtual void advise_random() const {}
  virtual void advise_willneed() const {}
  /// Copies a large file into huge pages, in its place, if there is memory for that: reads at
  /// scattered places then miss the TLB less (base/io/huge_pages.h). Answers whether it did. To be
  /// called before others read the file. No effect on a directory in memory.
  virtual bool hold_in_huge_pages() const { return false; }
  /// Keeps the whole pages inside `range`, a part of `bytes`, as told; kCached at first. Ranges of
  /// different calls are the same or disjoint. Where one is kCold, a file that is held in huge
  /// pages is no longer. No effect on a directory in memory. kResourceExhausted if the system locks
  /// no more pages; the range is kCached then.
  virtual Result<> place(Bytes range, MemoryPlacement placement) const;

 protected:
  MappedFile() = default;
  explicit MappedFile(Bytes bytes) : bytes_(bytes) {}

  Bytes bytes_;
};

/// Files that were mapped for one purpose, and whether they are still intact. One thread adds;
/// afterwards any number of threads may check.
class MappedFiles {
 public:
  void add(std::string path, std::shared_ptr<const MappedFile> file);
  /// kUnavailable, naming a damaged file. Costs a few loads for each file.
  [[nodiscard]] Result<> check() const;
  /// As `MappedFile::place`, for all files; the first error.
  [[nodiscard]] Result<> place(MemoryPlacement placement) const;

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const MappedFile> file;
  };
  std::vector<Entry> files_;
};

/// The bytes of `file`, which they keep alive.
[[nodiscard]] inline SharedBytes shared_bytes(std::shared_ptr<const MappedFile> file) {
  const Bytes bytes = file->bytes();
  return SharedBytes(bytes, std::move(file));
}

/// Identifies a file by its owner and its path. Formats store it in their header, so that a valid
/// file copied from another place is refused.
struct FileOrigin {
  std::uint64_t owner = 0;
  std::uint64_t path = 0;  ///< `hash_text` of the path, relative to the owner's directory
  bool operator==(const FileOrigin&) const = default;
};

/// Says how `found` differs from `wanted`.
[[nodiscard]] std::string describe_origin(const FileOrigin& found, const FileOrigin& wanted);

/// An open file, read by calls: a disk failure is an error, not a signal. One thread.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  /// Size when the file was opened.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `out` with the bytes from `offset` on. kDataLoss if the file ends before that, or the
  /// disk cannot read it.
  virtual Result<> read(std::uint64_t offset, std::span<std::byte> out) = 0;
  /// Maps this file, even if its name was changed or removed since it was opened.
  Result<std::shared_ptr<const MappedFile>> map();

  /// Expected origin; nullopt if the directory has no owner.
  [[nodiscard]] const std::optional<FileOrigin>& origin() const { return origin_; }

 protected:
  virtual Result<std::shared_ptr<const MappedFile>> map_whole() = 0;

 private:
  friend class Directory;
  std::optional<FileOrigin> origin_;
  std::string path_;
  std::shared_ptr<MappedFiles> watch_;
};

/// A new file, written front to back by one thread. Destroying it without `close` may leave any
/// part of the bytes.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  /// Origin to store in the file; nullopt if the directory has no owner.
  [[nodiscard]] const std::optional<FileOrigin>& origin() const { return origin_; }

  virtual Result<> append(Bytes bytes) = 0;
  /// Returns when the bytes so far are on stable storage.
  virtual Result<> sync() = 0;
  /// Closes without a sync. Further calls are errors.
  virtual Result<> close() = 0;

 private:
  friend class Directory;
  std::optional<FileOrigin> origin_;
};

enum class EntryKind : std::uint8_t { kFile, kDirectory };

struct DirectoryEntry {
  std::string name;
  EntryKind kind = EntryKind::kFile;
  bool operator==(const DirectoryEntry&) const = default;
};

/// One directory. Names are plain: not empty, no '/', not "." or ".." (else kInvalidArgument).
/// Errors: kNotFound, kAlreadyExists, kResourceExhausted ("no space left on device"), kDataLoss if
/// the disk cannot read its contents, kUnavailable if the disk fails otherwise or the system lacks
/// something, kInternal for the rest. The text has path, operation and reason.
/// Thread-safe for calls on different names. A handle does not follow a rename of its directory:
/// open it again.
class Directory {
 public:
  virtual ~Directory() = default;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] virtual const std::string& path() const = 0;

  /// Creates an empty file; kAlreadyExists if the name is taken.
  Result<std::unique_ptr<WritableFile>> create_file(std::string_view name);
  Result<std::unique_ptr<ReadableFile>> open_file(std::string_view name) const;
  Result<std::shared_ptr<const MappedFile>> open_mapped(std::string_view name) const;
  virtual Result<std::vector<std::byte>> read_file(std::string_view name) const = 0;
  virtual Result<std::uint64_t> file_size(std::string_view name) const = 0;
  virtual Result<> remove_file(std::string_view name) = 0;
  /// Renames in one step and replaces an existing file `to`.
  virtual Result<> rename_file(std::string_view from, std::string_view to) = 0;

  /// True for files and subdirectories. False also if the name cannot be looked up.
  [[nodiscard]] virtual bool exists(std::string_view name) const = 0;
  /// Sorted by name.
  virtual Result<std::vector<DirectoryEntry>> list() const = 0;

  /// Opens the subdirectory and creates it if needed (durable after `sync`).
  Result<std::unique_ptr<Directory>> subdirectory(std::string_view name);
  /// Opens an existing subdirectory.
  Result<std::unique_ptr<Directory>> open_subdirectory(std::string_view name) const;
  /// Removes it with everything below it.
  virtual Result<> remove_subdirectory(std::string_view name) = 0;
  /// kAlreadyExists if `to` exists.
  virtual Result<> rename_subdirectory(std::string_view from, std::string_view to) = 0;

  /// Makes the names in this directory durable: files created, renamed and removed so far.
  virtual Result<> sync() = 0;

  /// Everything below this directory belongs to `owner`, and origins hold paths relative to it.
  /// Subdirectories opened later inherit both. Call it before others use this handle.
  void set_owner(std::uint64_t owner);
  /// nullopt without an owner. A draft `<name>.tmp`, file or directory, has the origin of its final
  /// name.
  [[nodiscard]] std::optional<FileOrigin> origin_of(std::string_view name) const;
  /// Adds files that are mapped through this handle to `files` from now on. Call it before others
  /// use this handle.
  void watch(std::shared_ptr<MappedFiles> files) { watch_ = std::move(files); }

  /// Creates `name`, writes the pieces in order and syncs the file (not the directory). On failure
  /// the file is removed.
  Result<> write_file(std::string_view name, std::span<const Bytes> pieces);
  Result<> write_file(std::string_view name, Bytes bytes);
  /// Replaces the file atomically and durably. Readers, and a restart after a power cut at any
  /// moment, see either the old bytes or the new ones. Uses `<name>.tmp`. One caller per name at a
  /// time.
  Result<> replace_file(std::string_view name, Bytes bytes);

 protected:
  Directory() = default;

  virtual Result<std::unique_ptr<WritableFile>> do_create_file(std::string_view name) = 0;
  virtual Result<std::unique_ptr<ReadableFile>> do_open_file(std::string_view name) const = 0;
  virtual Result<std::unique_ptr<Directory>> do_subdirectory(std::string_view name) = 0;
  virtual Result<std::unique_ptr<Directory>> do_open_subdirectory(std::string_view name) const = 0;

 private:
  struct Place {
    std::uint64_t owner = 0;
    std::string path;  ///< empty, or ends with '/'
  };
  [[nodiscard]] std::optional<Place> place_below(std::string_view name) const;

  std::optional<Place> place_;
  std::shared_ptr<MappedFiles> watch_;
};

/// The directory at `path`. Creates it and its parents durably if needed.
[[nodiscard]] Result<std::unique_ptr<Directory>> open_real_directory(const std::string& path);

/// An empty directory in memory. Handles of the same subdirectory share its contents.
[[nodiscard]] std::unique_ptr<Directory> make_memory_directory();

/// Bytes that the file system has allocated to `path` and everything below it (`st_blocks`). Files
/// that vanish during the call count as 0.
[[nodiscard]] Result<std::uint64_t> allocated_bytes(const std::string& path);

/// The error for the errno value `error_number` after `operation` on `path` failed.
[[nodiscard]] Error file_error(int error_number, std::string_view operation, std::string_view path);
/// As `file_error` for reading operations: kDataLoss if the disk or its file system cannot return
/// what it stored. Temporary failures (descriptors, memory) and permissions are no data loss.
[[nodiscard]] Error read_error(int error_number, std::string_view operation, std::string_view path);
/// kDataLoss for a file that should have at least `wanted` bytes.
[[nodiscard]] Error file_ends_early(std::string_view path, std::uint64_t wanted,
                                    std::uint64_t found);
/// kInvalidArgument unless `name` is plain.
[[nodiscard]] Result<> check_file_name(std::string_view name);

}  // namespace quiver
