// The size of the terms that scores sum up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/ann/vectors.h"
#include "index/vector_column.h"

namespace quiver::bench {

/// Upper bound of the sum of |terms| in the score of query `q` and row `row`: |q| * |row|. For
/// multi-vectors: sum over query tokens of |token| * (length of the row's longest token). 0 for
/// distances: their terms have one sign, so the score itself is that sum.
[[nodiscard]] double size_of_terms(const index::FieldColumn& column, const QuerySet& queries,
                                   std::size_t q, std::uint32_t row);

}  // namespace quiver::bench
