// Options of `quiver export`.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace quiver::app {

struct ExportOptions {
  std::string url;
  std::string ca;  ///< PEM file of authorities for https; empty: the system's
  std::string api_key;
  std::string data_dir;
  std::string collection;
  std::string out;           ///< a directory, or a file of JSON lines
  std::string faiss;         ///< FAISS's description of an index; empty: none
  std::string vectors;       ///< with `faiss`: name of the vectors; "" is the unnamed one
  bool row_numbers = false;  ///< with `faiss`: number the rows in place of their ids
  std::uint32_t page = 0;    ///< points per request; 0: about 8 MB
  bool force = false;        ///< replace existing files
  bool quiet = false;
};

enum class ExportFormat : std::uint8_t { kLines, kArrays };

/// The format that `out` names. FILE.jsonl and FILE.jsonl.zst: lines. An existing directory, a name
/// that ends in '/' or has no extension: arrays. kInvalidArgument for any other extension.
[[nodiscard]] Result<ExportFormat> export_format(const std::string& out);

/// Checks the flags without looking at the collection.
[[nodiscard]] Result<> check_usage(const ExportOptions& options);

}  // namespace quiver::app
