// A disk in memory for RocksDB that can lose power, fill up and fail.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "storage/rows/runtime.h"
#include "tests/support/loss.h"

namespace quiver::fault {

struct DiskState;

/// Use it as `RuntimeOptions::file_system`. Thread-safe. Directories are durable at once; names in
/// them only after their directory was synced.
class PowerCutDisk final : public storage::FileSystemSeam {
 public:
  PowerCutDisk();
  ~PowerCutDisk() override;

  std::shared_ptr<rocksdb::FileSystem> wrap(std::shared_ptr<rocksdb::FileSystem> base) override;

  /// A copy of the disk after a power cut at this moment. This disk goes on unharmed.
  [[nodiscard]] std::shared_ptr<PowerCutDisk> after_power_cut(Loss loss, std::uint64_t seed) const;

  /// Calls `hook(n)` before the n-th change of the disk (append, sync, create, rename, ...), on the
  /// thread that makes it. Set it while no store is open.
  void on_change(std::function<void(std::uint64_t)> hook);

  /// Limits the bytes of all files together; writing more gives "no space left on device".
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
