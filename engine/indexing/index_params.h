// Search parameters as users give them, for the index type of a field.
#pragma once

#include "base/result.h"
#include "base/schema.h"
#include "engine/model/query.h"
#include "index/index.h"

namespace quiver::engine {

/// `params.index` under the field's kind (`dense`, `sparse`, `multi`) and under the type's name,
/// the latter first where both have a value; `params.hnsw_ef` as the type's `effort`, if it has one
/// and the user does not give it by name, `params.oversampling` as the parameter of that name
/// alike. Of a field that is searched exactly, whose type is `flat`, what stands under the kind is
/// checked as that kind's index would and left at that. kInvalidArgument names a parameter that the
/// type does not have, and those that it has.
[[nodiscard]] Result<index::AnyParams> index_params(const index::IndexType& type,
                                                    const FieldSchema& schema,
                                                    const SearchParams& params);

}  // namespace quiver::engine
