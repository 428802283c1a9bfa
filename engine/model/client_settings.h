// The settings of a collection's creator, as JSON, read where the engine acts on them.
#pragma once

#include <string>

#include "payload/json/document.h"
#include "payload/schema.h"

namespace quiver::engine {

/// The parameters of a dense or multi-vector field: `vectors` itself, or its member of that name.
/// nullptr if there are none.
[[nodiscard]] const payload::Value* vector_params(const payload::Value& settings,
                                                  const std::string& field);
/// True if the creator of a payload index said that its values are the tenants of the collection.
[[nodiscard]] bool is_tenant(const payload::FieldIndex& index);

}  // namespace quiver::engine
