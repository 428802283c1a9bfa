// What a collection's `hnsw_config` and `quantization_config` say of its indexes. Heavy (simdjson):
// for the .cc files of this folder only.
#pragma once

#include "base/result.h"
#include "engine/model/config.h"

namespace quiver::service::json {

/// Reads `config.client_settings` and sets `config.vector_indexes` by it: docs/dense.md has the
/// table. Members are those of checked configurations. kInternal if the text is no JSON object.
Result<> apply_vector_indexes(engine::CollectionConfig& config);

}  // namespace quiver::service::json
