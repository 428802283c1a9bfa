// Copies of whole collections, for nodes that were away too long to catch up by the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "cluster/node.h"
#include "engine/snapshots.h"

namespace quiver::cluster {

/// The verbs of the peer API that copy a collection.
inline constexpr std::string_view kOpenCopy = "copy-open";    ///< name -> number of the copy, bytes
inline constexpr std::string_view kReadCopy = "copy-read";    ///< number, offset -> bytes
inline constexpr std::string_view kCloseCopy = "copy-close";  ///< number

inline constexpr std::string_view kOpenArchive = "archive-open";  ///< id -> as `kOpenCopy`

/// Copies that other nodes read from this one: no file is read before they ask for it. A copy that
/// nobody reads for a minute is closed. Thread-safe.
class CopySource {
 public:
  [[nodiscard]] Result<std::string> answer(std::string_view verb, std::string_view body,
                                           engine::Snapshots& snapshots) QV_EXCLUDES(mutex_);
  /// Number of the copy and bytes, for whoever asked for it.
  [[nodiscard]] std::string offer(std::unique_ptr<engine::SnapshotReader> reader)
      QV_EXCLUDES(mutex_);
  /// Closes what nobody reads any more.
  void close_idle() QV_EXCLUDES(mutex_);

 private:
  struct Copy {
    Mutex mutex;  ///< held while it is read
    std::unique_ptr<engine::SnapshotReader> reader QV_GUARDED_BY(mutex);
    std::chrono::steady_clock::time_point last_used;
  };

  [[nodiscard]] Result<std::string> read(std::string_view question);

  Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Copy>> copies_ QV_GUARDED_BY(mutex_);
  std::uint64_t last_number_ QV_GUARDED_BY(mutex_) = 0;
};

/// Reads a copy from the node at `peer`, piece by piece. `verb` and `subject` open it.
[[nodiscard]] Result<> receive_copy(PeerClient& peers, const std::string& peer,
                                    std::string_view verb, std::string_view subject,
                                    const std::function<Result<>(std::string_view)>& take);

/// Receives the collection `name` of the node at `peer`, to replace the one that is here, which
/// `finish` does: all or nothing. kUnavailable if that node has another collection than the one
/// with `cluster_id`. `check` is asked before each piece; its error ends the copy.
[[nodiscard]] Result<std::unique_ptr<engine::SnapshotReceiver>> fetch_copy(
    PeerClient& peers, const std::string& peer, const std::string& name,
    const std::string& cluster_id, engine::Snapshots& snapshots,
    const std::function<Result<>()>& check);

}  // namespace quiver::cluster
