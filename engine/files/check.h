// `quiver check`: reads everything in a data directory that no server has open.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/files/findings.h"

namespace quiver::engine {

enum class Repairs : std::uint8_t {
  kNone,  ///< nothing is changed
  /// The catalog is taken from its copy if it is missing or damaged; shards whose rows are damaged
  /// or differ from their segments are rebuilt. Damaged files stay under other names.
  kAsked,
};

struct CheckRequest {
  std::string data_dir;
  std::string collection;  ///< only this one; empty: all, and everything beside them
  Repairs repairs = Repairs::kNone;
};

/// Reads catalog, rows, logs, segments, payload columns, indexes, samples of queries and snapshots.
/// kNotFound if there is no directory, or no such collection; kUnavailable if a server has it open.
[[nodiscard]] Result<CheckReport> check_data_directory(const CheckRequest& request);

}  // namespace quiver::engine
