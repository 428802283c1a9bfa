// Options of `quiver import`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quiver::app {

struct ImportOptions {
  // Sources.
  std::vector<std::string> vectors;  ///< [KIND:][NAME=]SOURCE each
  std::string points;                ///< JSON lines, one point each; empty: none
  std::string payload;               ///< JSON lines, one payload each; empty: none
  std::string ids;                   ///< .npy of ids; empty: none
  std::string from_export;           ///< directory that `quiver export` wrote; empty: none
  std::string faiss;                 ///< [NAME=]FILE of FAISS; empty: none
  std::string rows;                  ///< FIRST:END
  std::string id_column;             ///< member of the payload that holds the id; empty: none
  std::uint64_t id_offset = 0;
  std::vector<std::string> payload_keys;  ///< empty: all
  std::vector<std::string> scale;         ///< [NAME=]FACTOR each
  bool allow_missing_vectors = false;

  // Target.
  std::string url;
  std::string ca;  ///< PEM file of authorities for https; empty: the system's
  std::string api_key;
  std::string data_dir;
  std::string collection;
  std::optional<std::string> create;  ///< if given, a missing collection is created; body, or empty
  std::vector<std::string> metric;    ///< [NAME=]METRIC each
  std::vector<std::string> dtype;     ///< [NAME=]TYPE each
  std::uint32_t shards = 1;

  // Procedure.
  std::uint32_t batch = 0;  ///< points per request or chunk; 0: chosen by size
  std::uint32_t connections = 4;
  std::uint32_t retry_s = 60;
  std::string state;  ///< state file; empty: named after collection and source
  bool restart = false;
  bool skip_bad = false;
  bool quiet = false;
};

}  // namespace quiver::app
