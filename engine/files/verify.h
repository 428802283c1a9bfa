// Reads a whole file of a segment and verifies its checksums, whatever its format.
#pragma once

#include <string_view>

#include "base/io/file.h"
#include "base/result.h"

namespace quiver::engine {

/// kDataLoss names the damage. A file with the origin of another place is damage, too, if
/// `directory` has an owner. kUnimplemented if the format is unknown: then nothing was verified.
[[nodiscard]] Result<> verify_file(const Directory& directory, std::string_view name);

}  // namespace quiver::engine
