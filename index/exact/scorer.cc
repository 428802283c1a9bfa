#include "index/exact/scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/prefetch.h"

namespace quiver::index {
namespace {

constexpr float kNoHit = std::numeric_limits<float>::quiet_NaN();

std::size_t average_bytes(std::size_t total, std::size_t n_rows) {
  return n_rows == 0 ? 1 : total / n_rows + 1;
}

/// Into L2: the kernel fetches what follows by itself.
void prefetch_start(const MatrixView& tokens) {
  constexpr std::size_t kBytes = 4096;
  prefetch_bytes<Nearness::kL2>(tokens.data, std::min(kBytes, tokens.n_rows * tokens.stride_bytes));
}

}  // namespace

SparseScorer::SparseScorer(const PreparedQuery& query, const SparseColumn& column)
    : query_(query.sparse()),
      rows_{column.offsets.data(), column.indices.data(), column.values.data()},
      kernels_(kernels().sparse),
      bytes_per_row_(average_bytes(column.indices.size() * 8, column.offsets.size())) {}

void SparseScorer::score_run(std::uint32_t first, std::span<float> out) const {
  kernels_.many(query_, rows_, first, out.size(), out.data());
}

void SparseScorer::score_rows(std::span<const std::uint32_t> rows, std::span<float> out) const {
  kernels_.gather(query_, rows_, rows.data(), rows.size(), out.data());
}

MultiScorer::MultiScorer(const PreparedQuery& query, const MultiColumn& column)
    : query_(query),
      column_(column),
      is_converted_(is_compared_converted(query.schema())),
      maxsim_(kernels().maxsim(similarity_of(query.schema().metric),
                               is_converted_ ? DType::kF32 : column.tokens.dtype)),
      bytes_per_row_(average_bytes(column.tokens.bytes.size(), column.offsets.size())) {}

float MultiScorer::score(std::uint32_t row) const {
  const MatrixView tokens = column_.row(row);
  if (tokens.n_rows == 0 || query_.n_tokens() == 0) return kNoHit;
  if (is_converted_) return score_converted(tokens);
  return maxsim_(query_.blocked().data(), query_.n_tokens(), tokens.dim, tokens.data,
                 tokens.stride_bytes, tokens.n_rows);
}

float MultiScorer::score_converted(const MatrixView& tokens) const {
  std::vector<float> floats(tokens.n_rows * tokens.dim);
  for (std::size_t t = 0; t < tokens.n_rows; ++t) {
    to_compared_floats(tokens.row(t), query_.schema(), floats.data() + t * tokens.dim);
  }
  return maxsim_(query_.blocked().data(), query_.n_tokens(), tokens.dim,
                 reinterpret_cast<const std::byte*>(floats.data()), tokens.dim * sizeof(float),
                 tokens.n_rows);
}

void MultiScorer::score_run(std::uint32_t first, std::span<float> out) const {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = score(first + static_cast<std::uint32_t>(i));
}

void MultiScorer::score_rows(std::span<const std::uint32_t> rows, std::span<float> out) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + 1 < rows.size()) prefetch_start(column_.row(rows[i + 1]));
    out[i] = score(rows[i]);
  }
}

}  // namespace quiver::index
