// Resources that all shards of a process share: cache, memory for unwritten rows, background
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"

namespace rocksdb {
class FileSystem;
}

namespace quiver::storage {

/// The RocksDB objects of a runtime. Complete in runtime_shared.h, for files of this room.
struct RuntimeShared;

/// Puts another file system under every store of a runtime. For fault tests.
class FileSystemSeam {
 public:
  virtual ~FileSystemSeam() = default;
  /// Called once. `base` is the real file system.
  virtual std::shared_ptr<rocksdb::FileSystem> wrap(std::shared_ptr<rocksdb::FileSystem> base) = 0;
};

struct RuntimeOptions {
  /// Size of the shared cache of blocks and large row values, at least 1 MiB. More means fewer disk
  /// reads.
  std::size_t block_cache_bytes = std::size_t{128} << 20;
  /// Maximum size of all memtables of all shards, at least 1 MiB. Beyond it the largest one is
  /// flushed.
  std::size_t write_buffer_bytes = std::size_t{256} << 20;
  /// Maximum memory of one shard before it writes a file, at least 64 KiB.
  std::size_t shard_write_buffer_bytes = std::size_t{32} << 20;
  /// Approximate maximum of log bytes that a restart replays per shard.
  std::size_t max_wal_bytes = std::size_t{96} << 20;
  /// Threads that write and compact files, for all shards together, 1 to 64.
  int background_threads = 2;
  /// Open files per shard, at least 32.
  int max_open_files = 128;
  /// Row values of at least this size are stored in blob files, apart from the keys.
  std::size_t min_blob_bytes = 1024;
  /// False makes `write` return before its bytes are on stable storage. For repeatable bulk imports
  /// and tests.
  bool sync = true;
  /// Null in production.
  std::shared_ptr<FileSystemSeam> file_system;
};

/// Immutable and thread-safe. Stores keep their runtime alive.
class Runtime {
 public:
  /// kInvalidArgument names the option that is out of range.
  static Result<std::shared_ptr<Runtime>> create(RuntimeOptions options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const RuntimeOptions& options() const { return options_; }
  /// Bytes used by the shared cache, and by the memtables of all open stores.
  [[nodiscard]] std::uint64_t cache_bytes() const;
  [[nodiscard]] std::uint64_t memtable_bytes() const;

  [[nodiscard]] const RuntimeShared& shared() const { return *shared_; }

 private:
  Runtime(RuntimeOptions options, std::unique_ptr<RuntimeShared> shared);

  RuntimeOptions options_;
  std::unique_ptr<RuntimeShared> shared_;
};

}  // namespace quiver::storage
