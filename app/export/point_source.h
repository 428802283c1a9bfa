// The points of a collection, page by page, from a server or a data directory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/export/options.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/schema.h"
#include "engine/model/query.h"

namespace quiver::app {

/// What an export needs to know of a collection before it reads points.
struct CollectionFacts {
  std::vector<FieldSchema> fields;
  std::uint64_t n_points = 0;        ///< when the export starts
  std::string create;                ///< body of PUT /collections/{name}
  std::vector<std::string> indexes;  ///< bodies of PUT /collections/{name}/index
};

/// Use from one thread.
class PointSource {
 public:
  virtual ~PointSource() = default;

  [[nodiscard]] virtual const CollectionFacts& facts() const = 0;
  /// Returns up to `limit` points from id `first` on, with payload and vectors.
  virtual Result<engine::ScrollPage> page(const std::optional<PointId>& first,
                                          std::uint64_t limit) = 0;
  /// Releases the source. The last call.
  virtual Result<> close() = 0;
};

/// kNotFound if there is no such collection.
[[nodiscard]] Result<std::unique_ptr<PointSource>> open_server_points(const ExportOptions& options);
/// kUnavailable if a server has the directory open.
[[nodiscard]] Result<std::unique_ptr<PointSource>> open_directory_points(
    const ExportOptions& options);

/// One of the two, as `options` say; without `url` and `data_dir`, the usual server.
[[nodiscard]] Result<std::unique_ptr<PointSource>> open_points(ExportOptions options);
/// Points for a page whose vectors take about 8 MB as text, or `options.page`.
[[nodiscard]] std::uint64_t page_size(const ExportOptions& options, const CollectionFacts& facts);

/// Parses `result` of GET /collections/{name}.
[[nodiscard]] Result<CollectionFacts> parse_facts(const std::string& info);

}  // namespace quiver::app
