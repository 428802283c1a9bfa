// The flags of `quiver backup` and `quiver restore`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/backup/options.h"

namespace quiver::app {

CLI::App* add_backup(CLI::App& app, BackupOptions& options);
CLI::App* add_restore(CLI::App& app, RestoreOptions& options);

}  // namespace quiver::app
