// Opening a section file of an index.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/io/file.h"
#include "base/io/section_file.h"

namespace quiver::index {

/// kDataLoss unless the file is whole and was written for a column of `n_rows`. Adds its size to
/// `n_bytes`.
[[nodiscard]] Result<SectionReader> open_index_file(const Directory& directory,
                                                    std::string_view name,
                                                    const SectionFormat& format,
                                                    std::uint32_t n_rows, std::uint64_t& n_bytes);

}  // namespace quiver::index
