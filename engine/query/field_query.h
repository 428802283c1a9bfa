// A nearest query as the index of its field takes it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/search.h"
#include "engine/segment/segment.h"
#include "index/prepared_query.h"

namespace quiver::engine {

struct FieldQuery {
  std::size_t field;  ///< number of the field in the configuration
  index::PreparedQuery prepared;
};

/// kInvalidArgument if there is no field of that name or the vector does not fit it; kNotFound if
/// it is that of a point which is not there or has none. `token_weights`: of multi-vectors, looked
/// at nowhere else.
[[nodiscard]] Result<FieldQuery> field_query(const SearchEnvironment& environment,
                                             const std::string& using_field, const Nearest& nearest,
                                             const std::vector<float>& token_weights);

}  // namespace quiver::engine
