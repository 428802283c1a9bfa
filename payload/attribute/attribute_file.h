// The file of a sealed segment's attributes: docs/formats/attributes.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/io/file.h"
#include "base/result.h"
#include "payload/attribute/attribute.h"

namespace quiver::payload {

/// Syncs the file, not the directory. `n_rows`: of the segment, also if nothing is kept.
[[nodiscard]] Result<> write_attributes(const AttributeSet& set, std::uint32_t n_rows,
                                        Directory& directory, std::string_view file_name);

/// The set, with the file that holds it.
struct OpenedAttributes {
  AttributeSet set;
  std::shared_ptr<const MappedFile> file;
};

/// Checks the whole file and maps it. kDataLoss if it is damaged, is of another segment, or does
/// not describe `n_rows` rows; kNotFound if it is missing.
[[nodiscard]] Result<OpenedAttributes> open_attributes(const Directory& directory,
                                                       std::string_view file_name,
                                                       std::uint32_t n_rows);

}  // namespace quiver::payload
