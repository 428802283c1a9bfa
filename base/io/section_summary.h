// What the head and the end of a file of sections say, whatever its format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/io/file.h"
#include "base/result.h"

namespace quiver {

struct SectionSummary {
  std::string magic;      ///< 8 bytes
  std::string end_magic;  ///< 8 bytes
  std::uint32_t version = 0;
  std::uint32_t n_sections = 0;
  std::uint32_t n_rows = 0;
  FileOrigin origin;  ///< zeros in version 1
};

/// Reads 96 bytes and verifies nothing: for reports. kDataLoss if the file is shorter, or cannot be
/// read. `SectionReader::open` verifies a file.
[[nodiscard]] Result<SectionSummary> read_section_summary(const Directory& directory,
                                                          std::string_view name);

}  // namespace quiver
