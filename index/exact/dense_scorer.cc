#include "index/exact/dense_scorer.h"

#include <cmath>

namespace quiver::index {
namespace {

/// A tile of one member of each query.
template <class Value, class Get>
TiledQueries<Value> tiled(std::span<const PreparedQuery* const> queries, Get get) {
  std::array<std::span<const Value>, kTileQueries> vectors;
  assert(queries.size() <= kTileQueries);
  for (std::size_t j = 0; j < queries.size(); ++j) vectors[j] = get(*queries[j]);
  return TiledQueries<Value>(std::span(vectors).first(queries.size()));
}

const FieldSchema& schema_of(std::span<const PreparedQuery* const> queries) {
  return queries.front()->schema();
}

/// Rows as floats, as many as stay in the cache, on cache lines; one set for each thread.
class FloatRows {
 public:
  FloatRows(std::size_t n_wanted, std::size_t stride_bytes)
      : n_rows_(
            std::clamp<std::size_t>(kBytes / stride_bytes, 1, std::max<std::size_t>(1, n_wanted))),
        lines_per_row_(stride_bytes / sizeof(Line)) {
    if (lines().size() < n_rows_ * lines_per_row_) lines().resize(n_rows_ * lines_per_row_);
  }
  [[nodiscard]] std::size_t n_rows() const { return n_rows_; }
  [[nodiscard]] float* row(std::size_t i) const {
    return reinterpret_cast<float*>(lines().data() + i * lines_per_row_);
  }

 private:
  static constexpr std::size_t kBytes = 32 * 1024;
  struct alignas(64) Line {
    std::array<float, 16> values = {};
  };
  static std::vector<Line>& lines() {
    thread_local std::vector<Line> lines;
    return lines;
  }

  std::size_t n_rows_;
  std::size_t lines_per_row_;
};

const auto& byte_kernels(Metric metric) {
  return kernels().bytes.u8[static_cast<std::size_t>(similarity_of(metric))];
}

}  // namespace

template <class Value>
TiledQueries<Value>::TiledQueries(std::span<const std::span<const Value>> vectors)
    : tile_{vectors.front().data(), 0, vectors.size()} {
  if (vectors.size() == 1) return;
  constexpr std::size_t kPerLine = 64 / sizeof(Value);
  const std::size_t n_lines = vectors.front().size() / kPerLine + 1;
  lines_.resize(n_lines * vectors.size());
  auto* values = reinterpret_cast<Value*>(lines_.data());
  tile_.first = values;
  tile_.stride = n_lines * kPerLine;
  for (const auto& vector : vectors) {
    std::copy(vector.begin(), vector.end(), values);
    values += tile_.stride;
  }
}

RowLengths::RowLengths(const FieldSchema& schema, const DenseColumn& column)
    : rows_(column.rows(), byte_kernels(Metric::kEuclid)) {
  if (is_scaled_to_compare(schema)) zero_.resize(column.dim + 1);
}

void RowLengths::of_run(std::uint32_t first, std::uint32_t n, std::uint32_t* squares) const {
  if (wanted()) rows_.score_run({zero_.data(), 0, 1}, first, n, squares);
}

void RowLengths::of_rows(std::span<const std::uint32_t> rows, std::uint32_t* squares) const {
  if (wanted()) rows_.score_rows({zero_.data(), 0, 1}, rows, squares);
}

DenseScorer::DenseScorer(std::span<const PreparedQuery* const> queries, const DenseColumn& column)
    : queries_(tiled<float>(queries, [](const PreparedQuery& query) { return query.values(); })),
      rows_(column.rows(), kernels().dense(similarity_of(schema_of(queries).metric), column.dtype)),
      lengths_(schema_of(queries), column) {}

/// Four products of a loaded value take about as long as loading it.
std::size_t DenseScorer::cost_per_row() const {
  if (n_queries() == 1) return bytes_per_row();
  return sizeof(float) * rows_.view().dim * (1 + n_queries() / 4);
}

void DenseScorer::score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const {
  rows_.score_run(queries_.tile(), first, n, out.data());
  if (!lengths_.wanted()) return;
  std::array<std::uint32_t, kBlockRows> squares;
  lengths_.of_run(first, n, squares.data());
  divide(std::span(squares).first(n), out);
}

void DenseScorer::score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const {
  rows_.score_rows(queries_.tile(), rows, out.data());
  if (!lengths_.wanted()) return;
  std::array<std::uint32_t, kBlockRows> squares;
  lengths_.of_rows(rows, squares.data());
  divide(std::span(squares).first(rows.size()), out);
}

void DenseScorer::divide(std::span<const std::uint32_t> squares, BlockScores& out) const {
  for (std::size_t i = 0; i < squares.size(); ++i) {
    if (squares[i] == 0) continue;
    const double length = std::sqrt(static_cast<double>(squares[i]));
    for (std::size_t j = 0; j < n_queries(); ++j) {
      float& score = out[j * kBlockRows + i];
      score = static_cast<float>(score / length);
    }
  }
}

DenseByteScorer::DenseByteScorer(std::span<const PreparedQuery* const> queries,
                                 const DenseColumn& column)
    : queries_(
          tiled<std::uint8_t>(queries, [](const PreparedQuery& query) { return query.bytes(); })),
      is_distance_(quiver::is_distance(schema_of(queries).metric)),
      rows_(column.rows(), byte_kernels(schema_of(queries).metric)),
      lengths_(schema_of(queries), column) {
  const auto& tile = queries_.tile();
  for (std::size_t j = 0; j < tile.n && lengths_.wanted(); ++j) {
    const std::uint8_t* query = tile.first + j * tile.stride;
    query_squares_[j] = byte_kernels(Metric::kDot)
                            .one(query, column.dim, reinterpret_cast<const std::byte*>(query));
  }
}

void DenseByteScorer::score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const {
  Sums sums;
  rows_.score_run(queries_.tile(), first, n, sums.data());
  std::array<std::uint32_t, kBlockRows> squares;
  lengths_.of_run(first, n, squares.data());
  finish(n, sums, squares.data(), out);
}

void DenseByteScorer::score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const {
  Sums sums;
  rows_.score_rows(queries_.tile(), rows, sums.data());
  std::array<std::uint32_t, kBlockRows> squares;
  lengths_.of_rows(rows, squares.data());
  finish(rows.size(), sums, squares.data(), out);
}

void DenseByteScorer::finish(std::size_t n, const Sums& sums, const std::uint32_t* squares,
                             BlockScores& out) const {
  const float sign = is_distance_ ? -1.0F : 1.0F;
  for (std::size_t j = 0; j < n_queries(); ++j) {
    const std::uint32_t* from = sums.data() + j * kBlockRows;
    float* to = out.data() + j * kBlockRows;
    if (!lengths_.wanted()) {
      for (std::size_t i = 0; i < n; ++i) to[i] = 0.0F + sign * static_cast<float>(from[i]);
      continue;
    }
    const auto query_square = static_cast<double>(query_squares_[j]);
    for (std::size_t i = 0; i < n; ++i) {
      const double length = std::sqrt(query_square * static_cast<double>(squares[i]));
      to[i] = length > 0 ? static_cast<float>(static_cast<double>(from[i]) / length) : 0.0F;
    }
  }
}

DenseCodeScorer::DenseCodeScorer(std::span<const PreparedQuery* const> queries,
                                 const DenseColumn& column)
    : schema_(schema_of(queries)),
      queries_(tiled<float>(queries,
                            [](const PreparedQuery& query) { return query.compared_values(); })),
      rows_(column.rows()),
      kernels_(kernels().dense(similarity_of(schema_.metric), DType::kF32)) {}

template <class RowOf>
void DenseCodeScorer::score(std::size_t n, RowOf row_of, BlockScores& out) const {
  const std::size_t stride = padded_row_bytes(rows_.dim, DType::kF32);
  FloatRows floats(n, stride);
  for (std::size_t begin = 0; begin < n; begin += floats.n_rows()) {
    const std::size_t n_rows = std::min(floats.n_rows(), n - begin);
    for (std::size_t i = 0; i < n_rows; ++i) {
      to_compared_floats(rows_.row(row_of(begin + i)), schema_, floats.row(i));
    }
    const auto* first = reinterpret_cast<const std::byte*>(floats.row(0));
    float* scores = out.data() + begin;
    const auto& tile = queries_.tile();
    if (tile.n == 1) {
      kernels_.many(tile.first, rows_.dim, first, stride, n_rows, scores);
    } else {
      kernels_.tile(tile, rows_.dim, first, stride, n_rows, {scores, kBlockRows});
    }
  }
}

void DenseCodeScorer::score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const {
  score(
      n, [first](std::size_t i) { return first + i; }, out);
}

void DenseCodeScorer::score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const {
  score(
      rows.size(), [rows](std::size_t i) { return std::size_t{rows[i]}; }, out);
}

}  // namespace quiver::index
