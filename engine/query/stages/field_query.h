// A nearest query as the index of its field takes it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/environment.h"
#include "index/prepared_query.h"

namespace quiver::engine {

struct FieldQuery {
  std::size_t field;  ///< number of the field in the configuration
  index::PreparedQuery prepared;
};

/// Prepares the query of a nearest search and records it where the environment wants that.
/// kInvalidArgument if there is no such field or the vector does not fit it; kNotFound if the
/// vector is that of a point which does not exist or has none. Of `params` count the token weights
/// and what IDF counts over: kInvalidArgument if the field has no IDF.
[[nodiscard]] Result<FieldQuery> field_query(const SearchEnvironment& environment,
                                             const std::string& using_field, const Nearest& nearest,
                                             const SearchParams& params);

// The steps of it, for queries with several vectors.

/// The vector that is given, or that of the point, in the form of its field: sparse sorted by
/// index; one dense vector for a field of multi-vectors is one token. Errors as above.
[[nodiscard]] Result<VectorValue> query_value(const SearchEnvironment& environment,
                                              std::size_t field, const QueryVector& vector);
/// Weighs a `query_value` by IDF, if the field has it.
[[nodiscard]] Result<> weigh_value(const SearchEnvironment& environment, std::size_t field,
                                   const SearchParams& params, VectorValue& value);
/// How rare the indices of a query's vectors are; nothing of other fields than sparse ones with
/// IDF.
[[nodiscard]] Result<CorpusCounts> count_indices(const SearchEnvironment& environment,
                                                 const Query& query);
/// `value`, weighed, as the index takes it.
[[nodiscard]] Result<index::PreparedQuery> prepare_value(const FieldSchema& schema,
                                                         const VectorValue& value,
                                                         const std::vector<float>& token_weights);

}  // namespace quiver::engine
