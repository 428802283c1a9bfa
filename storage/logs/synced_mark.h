// Remembers how far a store has reached stable storage, in its own file beside RocksDB's. Without
// it, a log or manifest that was cut short between two records would look complete.
// docs/formats/shard-store.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/result.h"

namespace rocksdb {
class Env;
class RandomRWFile;
}  // namespace rocksdb

namespace quiver::storage {

struct SyncedState {
  std::uint64_t sequence = 0;        ///< RocksDB's sequence number of the last change
  std::uint64_t log = 0;             ///< number of the log with that change
  std::uint64_t log_bytes = 0;       ///< lower bound of that log's size
  std::uint64_t manifest = 0;        ///< number of the manifest
  std::uint64_t manifest_bytes = 0;  ///< lower bound of its size
  bool operator==(const SyncedState&) const = default;
};

/// Written after each sync, without being synced itself. It survives the end of the process. A
/// power cut may leave an older state, which is still true. Thread-safe.
class SyncedMark {
 public:
  /// Name of the file in the store's directory.
  static constexpr const char* kFile = "SYNCED";

  /// nullopt if the file is missing (stores of older versions) or unreadable.
  static std::optional<SyncedState> read(rocksdb::Env& env, const std::string& store);
  /// Creates the file if needed. If that fails (a full disk), the mark records nothing and logs one
  /// warning.
  SyncedMark(rocksdb::Env& env, const std::string& store);
  ~SyncedMark();
  SyncedMark(const SyncedMark&) = delete;
  SyncedMark& operator=(const SyncedMark&) = delete;

  void note_log(std::uint64_t sequence, std::uint64_t log, std::uint64_t log_bytes)
      QV_EXCLUDES(mutex_);
  void note_manifest(std::uint64_t manifest, std::uint64_t manifest_bytes) QV_EXCLUDES(mutex_);
  /// Syncs the file to stable storage.
  void sync() QV_EXCLUDES(mutex_);

 private:
  void write() QV_REQUIRES(mutex_);

  const std::string path_;
  Mutex mutex_;
  std::unique_ptr<rocksdb::RandomRWFile> file_ QV_GUARDED_BY(mutex_);
  SyncedState state_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_writes_ QV_GUARDED_BY(mutex_) = 0;
};

}  // namespace quiver::storage
