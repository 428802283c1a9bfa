// Writes exported points to files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "app/export/point_source.h"
#include "base/result.h"
#include "dataset/streams/byte_sink.h"
#include "engine/model/query.h"

namespace quiver::app {

/// Ids of the exported points: only numbers, or UUIDs too.
enum class IdKinds : std::uint8_t { kNumbers, kAny };

/// Use from one thread.
class PointSink {
 public:
  virtual ~PointSink() = default;

  virtual Result<> write(std::span<const engine::Record> points) = 0;
  /// Completes the files. Nothing is called after it.
  virtual Result<> finish() = 0;
};

/// Creates a file of JSON lines. A second file beside it holds the body of PUT /collections/{name}.
[[nodiscard]] Result<std::unique_ptr<PointSink>> create_lines(const std::string& path,
                                                              const CollectionFacts& facts,
                                                              dataset::IfExists if_exists);
/// Creates a directory of .npy files.
[[nodiscard]] Result<std::unique_ptr<PointSink>> create_arrays(const std::string& directory,
                                                               const CollectionFacts& facts,
                                                               IdKinds ids,
                                                               dataset::IfExists if_exists);

/// Writes a small text file in one step.
[[nodiscard]] Result<> write_text(const std::string& path, const std::string& text,
                                  dataset::IfExists if_exists);

}  // namespace quiver::app
