#include "index/flat/dense.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace quiver::index {
namespace {

const DenseKernels& kernels_for(const Query& query, const DenseColumn& column) {
  return kernels().dense(similarity_of(query.schema().metric), column.dtype);
}

}  // namespace

RowNorms::RowNorms(const Query& query, const DenseColumn& column)
    : rows_(column.rows()),
      wanted_(query.schema().metric == Metric::kCosine && column.dtype == DType::kU8) {}

void RowNorms::apply(std::uint32_t row, float& score) const {
  const auto* values = reinterpret_cast<const std::uint8_t*>(rows_.row(row));
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < rows_.dim; ++i) sum += std::uint64_t{values[i]} * values[i];
  if (sum != 0) score = static_cast<float>(score / std::sqrt(static_cast<double>(sum)));
}

DenseScorer::DenseScorer(const Query& query, const DenseColumn& column)
    : query_(query.values().data()),
      rows_(column.rows()),
      kernels_(kernels_for(query, column)),
      norms_(query, column) {}

void DenseScorer::score_run(std::uint32_t first, std::span<float> out) const {
  kernels_.many(query_, rows_.dim, rows_.row(first), rows_.stride_bytes, out.size(), out.data());
  if (!norms_.wanted()) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    norms_.apply(first + static_cast<std::uint32_t>(i), out[i]);
  }
}

void DenseScorer::score_rows(std::span<const std::uint32_t> rows, std::span<float> out) const {
  kernels_.gather(query_, rows_.dim, rows_.data, rows_.stride_bytes, rows.data(), rows.size(),
                  out.data());
  if (!norms_.wanted()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) norms_.apply(rows[i], out[i]);
}

DenseTile::DenseTile(std::span<const Query* const> queries, const DenseColumn& column)
    : n_queries_(queries.size()),
      lines_per_query_(column.dim / 16 + 1),
      values_(n_queries_ * lines_per_query_),
      rows_(column.rows()),
      kernels_(kernels_for(*queries.front(), column)),
      norms_(*queries.front(), column) {
  assert(n_queries_ <= kTileQueries);
  const std::size_t stride = lines_per_query_ * 16;
  for (std::size_t j = 0; j < n_queries_; ++j) {
    const auto values = queries[j]->values();
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(values_.data()) + j * stride);
  }
}

QueryTile<float> DenseTile::queries() const {
  return {reinterpret_cast<const float*>(values_.data()), lines_per_query_ * 16, n_queries_};
}

/// Four products with a value in a register take as long as fetching it once.
std::size_t DenseTile::cost_per_row() const {
  return sizeof(float) * rows_.dim * (1 + n_queries_ / 4);
}

void DenseTile::score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const {
  kernels_.tile(queries(), rows_.dim, rows_.row(first), rows_.stride_bytes, n,
                {out.data(), kBlockRows});
  apply_norms(
      n, [first](std::size_t i) { return first + static_cast<std::uint32_t>(i); }, out);
}

void DenseTile::score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const {
  kernels_.tile_gather(queries(), rows_.dim, rows_.data, rows_.stride_bytes, rows.data(),
                       rows.size(), {out.data(), kBlockRows});
  apply_norms(
      rows.size(), [rows](std::size_t i) { return rows[i]; }, out);
}

template <class RowOf>
void DenseTile::apply_norms(std::size_t n, RowOf row_of, BlockScores& out) const {
  if (!norms_.wanted()) return;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n_queries_; ++j) norms_.apply(row_of(i), out[j * kBlockRows + i]);
  }
}

}  // namespace quiver::index
