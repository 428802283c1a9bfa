// Options of `quiver backup` and `quiver restore`.
#pragma once

#include <cstdint>
#include <string>

namespace quiver::app {

struct BackupOptions {
  std::string url;       ///< of a running server; empty: `data_dir`
  std::string data_dir;  ///< of no running server
  std::string api_key;
  std::string ca;          ///< for https: PEM file of authorities; empty: the system's
  std::string folder;      ///< where backups are kept
  std::uint32_t keep = 0;  ///< number of backups to keep; 0: all
};

struct RestoreOptions {
  std::string folder;  ///< a backup, or a folder of backups: the newest
  std::string data_dir;
};

}  // namespace quiver::app
