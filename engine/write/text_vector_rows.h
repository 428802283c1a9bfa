// Vectors that a collection makes of the payloads of its points.
#pragma once

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/model/row.h"

namespace quiver::engine {

/// Sets the vectors of `config.text_vectors` in `row`, whatever is there: none if its texts have no
/// tokens. `row` has a place for each field.
[[nodiscard]] Result<> make_text_vectors(const CollectionConfig& config, Row& row);

}  // namespace quiver::engine
