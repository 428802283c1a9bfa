// The one seam to the file system: write-once files, atomic replacement, and the two syncs (of a
// file's bytes, of a directory's names) that durability needs.
//
// A new file is durable once it was synced *and* its directory was synced after it was created.
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

/// A whole file, readable as memory. Immutable; any number of threads.
///
/// One exception: where the disk cannot give a page any more, or the file was cut short meanwhile,
/// some or all of `bytes` is zeros from then on, so that whoever reads goes on. What was read until
/// `is_damaged` was asked may be wrong. So it is asked after reading, and nothing that was made of
/// the bytes counts if it says yes.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Starts on a 64-byte boundary. Valid while this object lives, even if the file is removed.
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// A few loads. Sees all that this thread met before.
  [[nodiscard]] virtual bool is_damaged() const { return false; }
  /// Hints to the page cache; without effect where there is none.
  virtual void advise_sequential() const {}
  virtual void advise_random() const {}
  virtual void advise_willneed() const {}
  /// Of files that are read all over, again and again: fewer misses of the page tables, where the
  /// system keeps files in huge pages.
  virtual void advise_huge_pages() const {}

 protected:
  MappedFile() = default;
  explicit MappedFile(Bytes bytes) : bytes_(bytes) {}

  Bytes bytes_;
};

/// Files that were mapped for one purpose, and whether they can be relied on. One thread adds; when
/// it is done any number may check.
class MappedFiles {
 public:
  void add(std::string path, std::shared_ptr<const MappedFile> file);
  /// kUnavailable, naming one that is damaged. A few loads for each.
  [[nodiscard]] Result<> check() const;

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

/// Whose file it is, and which: formats keep it in the header, and a file that came here from
/// another place, however well it fits, is told from the one that was written here.
struct FileOrigin {
  std::uint64_t owner = 0;
  std::uint64_t path = 0;  ///< `hash_text` of the path below what the owner has
  bool operator==(const FileOrigin&) const = default;
};

/// What is wrong with a file that says `found` where `wanted` should be.
[[nodiscard]] std::string describe_origin(const FileOrigin& found, const FileOrigin& wanted);

/// An open file, read by calls: what the disk cannot give is an error here, and no signal. One
/// thread.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  /// When it was opened.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `out` with the bytes from `offset` on. kDataLoss if the file ends before, or the disk
  /// cannot read them.
  virtual Result<> read(std::uint64_t offset, std::span<std::byte> out) = 0;
  /// The file that is read here, whatever happened to its name meanwhile.
  Result<std::shared_ptr<const MappedFile>> map();

  /// Whom it should belong to; nullopt: nobody said.
  [[nodiscard]] const std::optional<FileOrigin>& origin() const { return origin_; }

 protected:
  virtual Result<std::shared_ptr<const MappedFile>> map_whole() = 0;

 private:
  friend class Directory;
  std::optional<FileOrigin> origin_;
  std::string path_;
  std::shared_ptr<MappedFiles> watch_;
};

/// A new file that is written front to back by one thread. Destroying it without `close` leaves
/// what was written, without a promise.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  /// Whom it belongs to; nullopt: nobody said.
  [[nodiscard]] const std::optional<FileOrigin>& origin() const { return origin_; }

  virtual Result<> append(Bytes bytes) = 0;
  /// Returns when the bytes so far are on stable storage.
  virtual Result<> sync() = 0;
  /// Does not sync. Further calls are errors.
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

/// One directory. Names are plain: not empty, no '/', not "." or ".." (kInvalidArgument otherwise).
/// Errors: kNotFound, kAlreadyExists, kResourceExhausted ("no space left on device"), kDataLoss
/// where the disk cannot read what it holds, kInternal for the rest; the text has path, operation
/// and reason. Thread-safe as far as calls on different names go. A handle does not follow a rename
/// of its directory: open it again.
class Directory {
 public:
  virtual ~Directory() = default;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] virtual const std::string& path() const = 0;

  /// A new, empty file; kAlreadyExists if the name is taken.
  Result<std::unique_ptr<WritableFile>> create_file(std::string_view name);
  Result<std::unique_ptr<ReadableFile>> open_file(std::string_view name) const;
  Result<std::shared_ptr<const MappedFile>> open_mapped(std::string_view name) const;
  virtual Result<std::vector<std::byte>> read_file(std::string_view name) const = 0;
  virtual Result<std::uint64_t> file_size(std::string_view name) const = 0;
  virtual Result<> remove_file(std::string_view name) = 0;
  /// Replaces the file `to`, if there is one, in one step.
  virtual Result<> rename_file(std::string_view from, std::string_view to) = 0;

  /// False also if the name cannot be looked at. Files and subdirectories alike.
  [[nodiscard]] virtual bool exists(std::string_view name) const = 0;
  /// Sorted by name.
  virtual Result<std::vector<DirectoryEntry>> list() const = 0;

  /// Opens the subdirectory, creating it if need be (durable after `sync`).
  Result<std::unique_ptr<Directory>> subdirectory(std::string_view name);
  /// Opens an existing subdirectory.
  Result<std::unique_ptr<Directory>> open_subdirectory(std::string_view name) const;
  /// With everything below it.
  virtual Result<> remove_subdirectory(std::string_view name) = 0;
  /// kAlreadyExists if there is a `to`.
  virtual Result<> rename_subdirectory(std::string_view from, std::string_view to) = 0;

  /// Makes this directory's names durable: files created, renamed, removed so far.
  virtual Result<> sync() = 0;

  /// What is below here belongs to `owner`; from here on paths are counted. Handles of
  /// subdirectories that are opened later know it, too. Before others use this handle.
  void set_owner(std::uint64_t owner);
  /// nullopt without an owner. A draft `<name>.tmp`, file or directory, has the origin of what it
  /// becomes.
  [[nodiscard]] std::optional<FileOrigin> origin_of(std::string_view name) const;
  /// Files that are mapped through this handle are added to `files` from now on. Before others use
  /// it.
  void watch(std::shared_ptr<MappedFiles> files) { watch_ = std::move(files); }

  /// Creates `name`, writes the pieces one after another and syncs the file (not the directory).
  /// On failure nothing of it stays.
  Result<> write_file(std::string_view name, std::span<const Bytes> pieces);
  Result<> write_file(std::string_view name, Bytes bytes);
  /// Durable on return, file and name: readers, and a restart after a power cut at any moment, see
  /// either the old bytes or the new ones. Uses `<name>.tmp`. One caller per name at a time.
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

/// The directory at `path`, created with its parents (durably) if need be.
[[nodiscard]] Result<std::unique_ptr<Directory>> open_real_directory(const std::string& path);

/// An empty directory in memory. Handles of the same subdirectory share its contents.
[[nodiscard]] std::unique_ptr<Directory> make_memory_directory();

/// Bytes that the file system has allocated to `path` and everything below it (`st_blocks`). Files
/// that vanish meanwhile count as nothing.
[[nodiscard]] Result<std::uint64_t> allocated_bytes(const std::string& path);

/// The error for `errno` value `error_number`, met while doing `operation` on `path`.
[[nodiscard]] Error file_error(int error_number, std::string_view operation, std::string_view path);
/// The same for what reads: kDataLoss if the disk, or the file system on it, does not give what it
/// should hold. What passes (descriptors, memory) or is for the operator to mend (permissions) is
/// not.
[[nodiscard]] Error read_error(int error_number, std::string_view operation, std::string_view path);
/// kDataLoss: of a file that should have `wanted` bytes at least.
[[nodiscard]] Error file_ends_early(std::string_view path, std::uint64_t wanted,
                                    std::uint64_t found);
/// kInvalidArgument unless `name` is plain.
[[nodiscard]] Result<> check_file_name(std::string_view name);

}  // namespace quiver
