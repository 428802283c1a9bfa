// `export.json`: the contents of a directory that `quiver export` wrote (docs/import.md).
#pragma once

#include <string>
#include <vector>

#include "app/import/plan/source_spec.h"
#include "base/result.h"

namespace quiver::app {

inline constexpr const char* kExportManifest = "export.json";

struct ExportManifest {
  std::uint64_t n_points = 0;
  std::string ids;  ///< file name within the directory, as are all others here
  std::string payload;
  std::vector<SourceSpec> vectors;
  std::string create;                ///< body of PUT /collections/{name}
  std::vector<std::string> indexes;  ///< bodies of PUT /collections/{name}/index
};

[[nodiscard]] std::string to_json(const ExportManifest& manifest);
/// kDataLoss if `json` is not a manifest.
[[nodiscard]] Result<ExportManifest> parse_manifest(const std::string& json);

}  // namespace quiver::app
