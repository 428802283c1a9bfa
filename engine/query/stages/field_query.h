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
/// vector is that of a point which does not exist or has none. `token_weights`: for multi-vectors,
/// otherwise ignored.
[[nodiscard]] Result<FieldQuery> field_query(const SearchEnvironment& environment,
                                             const std::string& using_field, const Nearest& nearest,
                                             const std::vector<float>& token_weights);

}  // namespace quiver::engine
