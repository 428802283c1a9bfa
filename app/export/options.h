// `quiver export`: what the command line says.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

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

enum class ExportFormat : std::uint8_t { kLines, kArrays };

/// What `out` stands for: FILE.jsonl or FILE.jsonl.zst lines; a directory (one that is there, a
/// name that ends in '/' or has no ending) arrays. kInvalidArgument for any other ending.
[[nodiscard]] Result<ExportFormat> export_format(const std::string& out);

/// What is wrong with the flags whatever the collection holds.
[[nodiscard]] Result<> check_usage(const ExportOptions& options);

}  // namespace quiver::app
