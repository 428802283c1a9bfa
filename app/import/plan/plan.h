// The plan of an import, made from the flags: which files to read, and how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/import/plan/options.h"
#include "app/import/plan/source_spec.h"
#include "base/result.h"
#include "dataset/vectors.h"

namespace quiver::app {

struct ImportPlan {
  std::vector<SourceSpec> vectors;
  std::string points;   ///< JSON lines, one point each; empty: none
  std::string payload;  ///< JSON lines, one payload each; empty: none
  std::string ids;      ///< .npy or JSON lines; empty: none
  dataset::RowRange rows;
  std::optional<std::string> id_column;
  std::uint64_t id_offset = 0;
  std::vector<std::string> payload_keys;
  bool allow_missing_vectors = false;
  // From the manifest of an export; empty without one.
  std::string create_body;                ///< body of PUT /collections/{name}
  std::vector<std::string> index_bodies;  ///< bodies of PUT /collections/{name}/index

  /// True if two rows may have the same id.
  [[nodiscard]] bool ids_may_repeat() const {
    return id_column.has_value() || !ids.empty() || !points.empty();
  }
  /// The main source, as the user named it: points, else vectors, else payloads.
  [[nodiscard]] const std::string& main_source() const;
};

/// Checks the flags without looking at files or the target.
[[nodiscard]] Result<> check_usage(const ImportOptions& options);

/// Makes the plan. kInvalidArgument for flags that contradict each other.
[[nodiscard]] Result<ImportPlan> make_plan(const ImportOptions& options);

/// Paths of the files of a source: the file itself, all .npy files of a prefix, or the HDF5 file.
[[nodiscard]] std::vector<std::string> files_of(const std::string& source);

}  // namespace quiver::app
