// `quiver export`: what the command line says.
#pragma once

#include <cstdint>
#include <string>

namespace quiver::app {

struct ExportOptions {
  std::string url;
  std::string api_key;
  std::string data_dir;
  std::string collection;
  std::string out;         ///< a directory, or a file of JSON lines
  std::uint32_t page = 0;  ///< points per request; 0: as many as make a good answer
  bool force = false;      ///< replace files that are there
  bool quiet = false;
};

}  // namespace quiver::app
