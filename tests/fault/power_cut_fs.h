// A disk in memory for RocksDB that can lose power, fill up and fail.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "storage/rows/runtime.h"

namespace quiver::fault {

/// What a power cut takes.
enum class Loss : std::uint8_t {
  kAllUnsynced,   ///< every byte and every name that was not synced
  kSomeUnsynced,  ///< of the unsynced bytes a suffix (partly zeros instead), of the names the
                  ///< latest
};

struct DiskState;

/// Plug it into `RuntimeOptions::file_system`. Thread-safe. Directories themselves are durable;
/// names in them only after their directory was synced.
class PowerCutDisk final : public storage::FileSystemSeam {
 public:
  PowerCutDisk();
  ~PowerCutDisk() override;

  std::shared_ptr<rocksdb::FileSystem> wrap(std::shared_ptr<rocksdb::FileSystem> base) override;

  /// The disk as a machine finds it that lost power now; this one goes on unharmed.
  [[nodiscard]] std::shared_ptr<PowerCutDisk> after_power_cut(Loss loss, std::uint64_t seed) const;

  /// `hook(n)` runs before the n-th change of the disk (append, sync, create, rename, ...), on the
  /// thread that makes it. Set while no store is open.
  void on_change(std::function<void(std::uint64_t)> hook);

  /// All files together hold at most so many bytes; more is "no space left on device".
  void set_capacity(std::optional<std::uint64_t> bytes);
  [[nodiscard]] std::uint64_t used_bytes() const;
  /// The next `n` syncs of files fail with an I/O error.
  void fail_syncs(int n);
  /// The next `n` appends write half of their bytes and fail with an I/O error.
  void fail_appends(int n);

 private:
  explicit PowerCutDisk(std::shared_ptr<DiskState> state);
  std::shared_ptr<DiskState> state_;
};

}  // namespace quiver::fault
