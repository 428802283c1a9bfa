// Encodes and decodes the catalog file: docs/formats/catalog.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "storage/catalog/catalog.h"

namespace quiver::storage {

[[nodiscard]] std::vector<std::byte> encode_catalog(const Catalog::State& state);
/// kDataLoss names `path` and the damage; kUnimplemented for an unknown newer version.
[[nodiscard]] Result<Catalog::State> decode_catalog(Bytes bytes, const std::string& path);

}  // namespace quiver::storage
