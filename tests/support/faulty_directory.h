// A directory that fails on demand and can lose everything that was not synced. For tests.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "base/io/file.h"
#include "tests/support/loss.h"

namespace quiver {

/// Operations that can fail.
enum class FileOperation : std::uint8_t {
  kAny,     ///< any operation that changes something
  kCreate,  ///< files and subdirectories
  kAppend,
  kSync,  ///< a file
  kDirectorySync,
  kRename,  ///< files and subdirectories
  kRemove,  ///< files and subdirectories
  kOpen,    ///< a file, for reading
  kRead,    ///< by a call; reads through a mapping never fail by injection
};

/// Calls `nth` (from 1, counted from `inject`) to `nth + n_times - 1` of `operation` fail with
/// `error_number`. A failing append still writes the first half of its bytes.
struct FaultRule {
  static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();
  FileOperation operation = FileOperation::kAny;
  std::uint64_t nth = 1;
  std::uint64_t n_times = 1;
  int error_number = 5;  ///< EIO; 28 is ENOSPC
};

struct FaultState;
struct FaultNode;

/// Passes every call to `inner` and remembers which part of it is durable. Existing contents of
/// `inner`, and changes made without this class, count as durable. Subdirectories share their
/// parent's faults. Thread-safe.
class FaultyDirectory final : public Directory {
 public:
  explicit FaultyDirectory(std::unique_ptr<Directory> inner);
  ~FaultyDirectory() override;

  void inject(FaultRule rule);
  void clear_faults();
  /// Number of calls so far, including failed ones. Lets a test fail each of them in turn.
  [[nodiscard]] std::uint64_t n_operations(FileOperation operation) const;

  /// From now on every change fails with kUnavailable.
  void cut_power();
  /// Loses what was not durable: bytes after the last sync of their file, and names created,
  /// renamed or removed since the last sync of their directory; under other losses less of it,
  /// drawn with `seed`. Restores power and clears faults. Files still open for writing fail from
  /// then on. Call it on the root.
  Result<> drop_unsynced(Loss loss = Loss::kAllUnsynced, std::uint64_t seed = 0);

  [[nodiscard]] const std::string& path() const override;
  Result<std::vector<std::byte>> read_file(std::string_view name) const override;
  Result<std::uint64_t> file_size(std::string_view name) const override;
  Result<> remove_file(std::string_view name) override;
  Result<> rename_file(std::string_view from, std::string_view to) override;
  [[nodiscard]] bool exists(std::string_view name) const override;
  Result<std::vector<DirectoryEntry>> list() const override;
  Result<> remove_subdirectory(std::string_view name) override;
  Result<> rename_subdirectory(std::string_view from, std::string_view to) override;
  Result<> sync() override;

 protected:
  Result<std::unique_ptr<WritableFile>> do_create_file(std::string_view name) override;
  Result<std::unique_ptr<ReadableFile>> do_open_file(std::string_view name) const override;
  Result<std::unique_ptr<Directory>> do_subdirectory(std::string_view name) override;
  Result<std::unique_ptr<Directory>> do_open_subdirectory(std::string_view name) const override;

 private:
  FaultyDirectory(std::unique_ptr<Directory> inner, std::shared_ptr<FaultState> state,
                  std::shared_ptr<FaultNode> node);

  std::unique_ptr<Directory> inner_;
  std::shared_ptr<FaultState> state_;
  std::shared_ptr<FaultNode> node_;
};

}  // namespace quiver
