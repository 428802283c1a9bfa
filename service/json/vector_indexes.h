// How a collection's `hnsw_config` and `quantization_config` configure its indexes.
#pragma once

#include "base/result.h"
#include "engine/model/config.h"

namespace quiver::service::json {

/// Sets `config.vector_indexes` from `config.client_settings`, which was checked before;
/// docs/dense.md has the table. kInternal if the text is no JSON object.
Result<> apply_vector_indexes(engine::CollectionConfig& config);

}  // namespace quiver::service::json
