// How large the terms are that scores are sums of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "app/ann/vectors.h"
#include "index/vector_column.h"

namespace quiver::app {

/// Of the score of query `q` and row `row`: the product of their lengths (of multi-vectors summed
/// over the query's tokens, with the row's longest), which bounds the sum of their terms' sizes.
/// Distances: 0, since their terms have one sign and the score is as large as they are.
[[nodiscard]] double size_of_terms(const index::FieldColumn& column, const QuerySet& queries,
                                   std::size_t q, std::uint32_t row);

}  // namespace quiver::app
