// Opening a section file of an index.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/io/file.h"
#include "base/io/section_file.h"

namespace quiver::index {

/// How searches read a file.
enum class Reads : std::uint8_t {
  kInRuns,     ///< much from few places
  kScattered,  ///< little from many places, so that huge pages help
};

/// kDataLoss unless the file is whole and was written for a column of `n_rows`. Adds its size to
/// `n_bytes`.
[[nodiscard]] Result<SectionReader> open_index_file(const Directory& directory,
                                                    std::string_view name,
                                                    const SectionFormat& format,
                                                    std::uint32_t n_rows, std::uint64_t& n_bytes,
                                                    Reads reads = Reads::kInRuns);

}  // namespace quiver::index
