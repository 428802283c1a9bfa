#include "index/dense/osq/scaled_rows.h"

#include <algorithm>
#include <cmath>

#include "index/parallel.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::index::dense::osq {
namespace {

constexpr std::uint32_t kLengthsPerTask = 4096;

}  // namespace

ScaledRows::ScaledRows(const FieldColumn& column)
    : column_(&column), rows_(list_present_rows(column)) {}

Result<ScaledRows> ScaledRows::make(const FieldColumn& column, const BuildContext& context) {
  ScaledRows rows(column);
  std::vector<double> longest(rows.n() / kLengthsPerTask + 1, 0);
  for_each(context, longest.size(), [&](std::size_t task) {
    if (!context.cancel.check()) return;
    std::vector<float> row(rows.dim());
    const auto first = static_cast<std::uint32_t>(task * kLengthsPerTask);
    const std::uint32_t end = std::min(first + kLengthsPerTask, rows.n());
    for (std::uint32_t i = first; i < end; ++i) {
      rows.read_unscaled(i, row.data());
      longest[task] = std::max(longest[task], kernels().convert.norm(row.data(), row.size()));
    }
  });
  QV_TRY(context.cancel.check());
  int exponent = 0;
  std::frexp(*std::max_element(longest.begin(), longest.end()), &exponent);
  rows.scale_ = std::ldexp(1.0, -exponent);
  return rows;
}

void ScaledRows::read_unscaled(std::uint32_t i, float* out) const {
  const DenseColumn& column = column_->dense();
  to_floats(column.rows().row(rows_[i]), column.dtype, column.dim, out);
  if (column_->schema.metric == Metric::kCosine) to_unit_length(out, column.dim);
}

void ScaledRows::read(std::uint32_t i, float* out) const {
  read_unscaled(i, out);
  kernels().convert.scale(out, dim(), scale_, out);
}

}  // namespace quiver::index::dense::osq
