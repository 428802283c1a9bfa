// What an import is to read, from the flags.
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
  std::string points;   ///< JSON lines, a point each; empty: none
  std::string payload;  ///< JSON lines, a payload each; empty: none
  std::string ids;      ///< .npy or JSON lines; empty: none
  dataset::RowRange rows;
  std::optional<std::string> id_column;
  std::uint64_t id_offset = 0;
  std::vector<std::string> payload_keys;
  bool allow_missing_vectors = false;
  // What an export says its collection was; empty: nothing.
  std::string create_body;                ///< of PUT /collections/{name}
  std::vector<std::string> index_bodies;  ///< of PUT /collections/{name}/index

  /// True where two rows may carry one id.
  [[nodiscard]] bool ids_may_repeat() const {
    return id_column.has_value() || !ids.empty() || !points.empty();
  }
  /// The first source, as the user named it.
  [[nodiscard]] const std::string& main_source() const;
};

/// What is wrong with the flags whatever the files and the target hold; no file is looked at.
[[nodiscard]] Result<> check_usage(const ImportOptions& options);

/// kInvalidArgument for what does not fit together.
[[nodiscard]] Result<ImportPlan> make_plan(const ImportOptions& options);

/// The files behind a source: itself, or those that share its prefix, or its HDF5 file.
[[nodiscard]] std::vector<std::string> files_of(const std::string& source);

}  // namespace quiver::app
