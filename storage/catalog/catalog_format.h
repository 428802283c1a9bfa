// The bytes of the catalog file: docs/formats/catalog.md.
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
/// kDataLoss names `path` and what is wrong; kUnimplemented for a version of the future.
[[nodiscard]] Result<Catalog::State> decode_catalog(Bytes bytes, const std::string& path);

}  // namespace quiver::storage
