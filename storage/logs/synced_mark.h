// What of a store has reached stable storage, in a file of its own beside RocksDB's: without it a
// log or a manifest that was cut short between two records looks complete.
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
  std::uint64_t sequence = 0;        ///< RocksDB's number of the last change
  std::uint64_t log = 0;             ///< number of the log that it stands in
  std::uint64_t log_bytes = 0;       ///< of that log, at least
  std::uint64_t manifest = 0;        ///< number of the manifest
  std::uint64_t manifest_bytes = 0;  ///< of it, at least
  bool operator==(const SyncedState&) const = default;
};

/// Written after each sync, without a sync of its own: it survives the end of the process, and a
/// power cut leaves an older state, never one that says too much. Any number of threads.
class SyncedMark {
 public:
  /// The file's name in the store's directory.
  static constexpr const char* kFile = "SYNCED";

  /// nullopt if there is none (stores of older versions), or none that can be read.
  static std::optional<SyncedState> read(rocksdb::Env& env, const std::string& store);
  /// Creates the file if need be. Without one (a full disk) the mark keeps nothing, and says so
  /// once.
  SyncedMark(rocksdb::Env& env, const std::string& store);
  ~SyncedMark();
  SyncedMark(const SyncedMark&) = delete;
  SyncedMark& operator=(const SyncedMark&) = delete;

  void note_log(std::uint64_t sequence, std::uint64_t log, std::uint64_t log_bytes)
      QV_EXCLUDES(mutex_);
  void note_manifest(std::uint64_t manifest, std::uint64_t manifest_bytes) QV_EXCLUDES(mutex_);
  /// To stable storage.
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
