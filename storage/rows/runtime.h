// What all shards of a process share: cache, memory for unwritten rows, background threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"

namespace rocksdb {
class FileSystem;
}

namespace quiver::storage {

/// Puts a file system of the caller's own under every store of a runtime: for fault tests.
class FileSystemSeam {
 public:
  virtual ~FileSystemSeam() = default;
  /// Called once; `base` is the real file system.
  virtual std::shared_ptr<rocksdb::FileSystem> wrap(std::shared_ptr<rocksdb::FileSystem> base) = 0;
};

struct RuntimeOptions {
  /// Shared cache of blocks and large row values, 1 MiB or more. More: fewer disk reads.
  std::size_t block_cache_bytes = std::size_t{128} << 20;
  /// All memtables of all shards together, 1 MiB or more. Beyond it the largest is written out.
  std::size_t write_buffer_bytes = std::size_t{256} << 20;
  /// Most a single shard keeps in memory before it writes a file, 64 KiB or more.
  std::size_t shard_write_buffer_bytes = std::size_t{32} << 20;
  /// Log bytes of one shard that a restart has to replay at most, about.
  std::size_t max_wal_bytes = std::size_t{96} << 20;
  /// Threads that write and compact files, for all shards together, 1 to 64.
  int background_threads = 2;
  /// File handles that one shard keeps open, 32 or more.
  int max_open_files = 128;
  /// Row values from this size on are stored in blob files, apart from the keys.
  std::size_t min_blob_bytes = 1024;
  /// False makes `write` return before its bytes are on stable storage: for bulk imports that can
  /// be repeated, and for tests.
  bool sync = true;
  /// Null in production.
  std::shared_ptr<FileSystemSeam> file_system;
};

/// Immutable once made; any number of threads and stores. Stores keep their runtime alive.
class Runtime {
 public:
  /// kInvalidArgument names the option that is out of range.
  static Result<std::shared_ptr<Runtime>> create(RuntimeOptions options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const RuntimeOptions& options() const { return options_; }
  /// Bytes held by the shared cache, and by the memtables of all open stores.
  [[nodiscard]] std::uint64_t cache_bytes() const;
  [[nodiscard]] std::uint64_t memtable_bytes() const;

  /// The RocksDB objects; complete only inside this room.
  struct Shared;
  [[nodiscard]] const Shared& shared() const { return *shared_; }

 private:
  Runtime(RuntimeOptions options, std::unique_ptr<Shared> shared);

  RuntimeOptions options_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace quiver::storage
