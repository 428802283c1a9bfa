// Converts the search parameters of a request to those of a field's index type.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/schema.h"
#include "engine/model/query.h"
#include "index/index.h"

namespace quiver::engine {

/// True if `params.<name>` holds parameters of indexes: `name` is a kind of field (`dense`,
/// `sparse`, `multi`) or an index type of the registry.
[[nodiscard]] bool is_params_group(std::string_view name);

/// The search parameters of one request, parsed once for all segments of a field of type `type`:
///   1. `params.index[type.name]`;
///   2. `params.index[kind_name(schema.kind)]`, for names that 1 does not give. Type `flat` has no
///      use for these; they are checked as the kind's usual type would;
///   3. `params.hnsw_ef` as `effort` and `params.oversampling` as `oversampling`, if the type has
///      the parameter and neither 1 nor 2 gives it, cut to its range.
/// kInvalidArgument names an unknown parameter and the known ones.
[[nodiscard]] Result<index::AnyParams> index_params(const index::IndexType& type,
                                                    const FieldSchema& schema,
                                                    const SearchParams& params);

/// The parameters for the index of type `present` that a segment has at the moment, given those for
/// the type `wanted`. The types differ until another index is built. What `present` does not know
/// is then left at its defaults.
[[nodiscard]] index::AnyParams params_for_present(const index::IndexType& present,
                                                  const index::IndexType& wanted,
                                                  const index::AnyParams& of_wanted,
                                                  const FieldSchema& schema,
                                                  const SearchParams& params);

}  // namespace quiver::engine
