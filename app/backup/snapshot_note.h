// The snapshot that a backup reads, noted in the folder of backups. A run that is killed leaves it
// where it is; the next run finds the note and removes it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace quiver::app {

struct NotedSnapshot {
  std::string place;  ///< URL of the server, or path of the data directory
  std::string name;
};

class SnapshotNote {
 public:
  /// `folder`: of backups; exists.
  explicit SnapshotNote(std::string folder) : folder_(std::move(folder)) {}

  /// nullopt if there is none, or none that can be understood.
  [[nodiscard]] Result<std::optional<NotedSnapshot>> read() const;
  /// Durable on return.
  [[nodiscard]] Result<> write(const NotedSnapshot& noted) const;
  [[nodiscard]] Result<> clear() const;

 private:
  const std::string folder_;
};

/// kCancelled once SIGINT or SIGTERM has asked this process to end.
[[nodiscard]] Result<> check_not_stopped();

}  // namespace quiver::app
