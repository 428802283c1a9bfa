#include "bench/ann/terms.h"

#include <algorithm>
#include <vector>

#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::bench {
namespace {

double longest(const MatrixView& vectors) {
  std::vector<float> values(vectors.dim);
  double found = 0;
  for (std::size_t i = 0; i < vectors.n_rows; ++i) {
    index::to_floats(vectors.row(i), vectors.dtype, vectors.dim, values.data());
    found = std::max(found, kernels().convert.norm(values.data(), values.size()));
  }
  return found;
}

/// Length of the row, or of its longest token; 1 under Cosine, which compares directions.
double row_length(const index::FieldColumn& column, std::uint32_t row) {
  if (column.schema.metric == Metric::kCosine) return 1;
  if (column.schema.kind == FieldKind::kSparse) {
    const auto values = column.sparse().row(row).values;
    return kernels().convert.norm(values.data(), values.size());
  }
  if (column.schema.kind == FieldKind::kMulti) return longest(column.multi().row(row));
  MatrixView one = column.dense().rows();
  one.data = one.row(row);
  one.n_rows = 1;
  return longest(one);
}

}  // namespace

double size_of_terms(const index::FieldColumn& column, const QuerySet& queries, std::size_t q,
                     std::uint32_t row) {
  if (is_distance(column.schema.metric)) return 0;
  return queries.length(q) * row_length(column, row);
}

}  // namespace quiver::bench
