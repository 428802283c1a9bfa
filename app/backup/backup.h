// Backups: complete copies in a folder, which share the files that did not change.
#pragma once

#include <string>
#include <vector>

#include "app/backup/options.h"
#include "base/result.h"

namespace quiver::app {

[[nodiscard]] Result<> check_usage(const BackupOptions& options);

/// Adds a backup, prints its name, and removes the oldest ones.
[[nodiscard]] Result<> run_backup(const BackupOptions& options);
[[nodiscard]] Result<> run_restore(const RestoreOptions& options);

/// Names of the complete backups in a folder, oldest first.
[[nodiscard]] Result<std::vector<std::string>> backups_in(const std::string& folder);

}  // namespace quiver::app
