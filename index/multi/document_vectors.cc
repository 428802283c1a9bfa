#include "index/multi/document_vectors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "index/ivf/parallel.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {
namespace {

/// Documents that one task encodes together.
constexpr std::uint32_t kRowsOfATask = 64;
constexpr std::size_t kBufferBytes = std::size_t{32} << 20;
/// Half of the largest f16.
constexpr float kLargest = 32'752;

/// Encodes rows `[first, first + n)` of a column, absent ones as zeros.
class Encoding {
 public:
  Encoding(const FieldColumn& column, const encoders::SetEncoder& encoder, float scale)
      : column_(column), encoder_(encoder), scale_(scale) {}

  void encode(std::uint32_t first, std::uint32_t n, std::size_t stride, std::byte* out) const {
    std::vector<std::vector<float>> tokens;
    std::vector<encoders::TokenSet> sets;
    std::vector<std::uint32_t> rows;
    tokens.reserve(n);
    for (std::uint32_t row = first; row < first + n; ++row) {
      if (column_.present[row] == 0) continue;
      auto& values = tokens.emplace_back();
      const std::size_t n_tokens = read_tokens(column_, row, values);
      sets.push_back({values.data(), n_tokens});
      rows.push_back(row);
    }
    std::vector<float> vectors(sets.size() * encoder_.dim());
    encoder_.encode_documents(sets, vectors.data());
    for (float& value : vectors) value = std::clamp(value * scale_, -kLargest, kLargest);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto* to = reinterpret_cast<std::uint16_t*>(out + (rows[i] - first) * stride);
      kernels().convert.f32_to_f16(vectors.data() + i * encoder_.dim(), encoder_.dim(), to);
    }
  }

 private:
  const FieldColumn& column_;
  const encoders::SetEncoder& encoder_;
  float scale_;
};

/// Brings tokens of any length near one; the order of products stays.
float scale_for(const FieldColumn& column) {
  if (column.schema.metric == Metric::kCosine) return 1;
  double longest = 0;
  std::vector<float> token(column.schema.dim);
  const MatrixView tokens = column.multi().tokens.rows();
  for (std::size_t t = 0; t < tokens.n_rows; ++t) {
    to_floats(tokens.row(t), tokens.dtype, tokens.dim, token.data());
    longest = std::max(longest, kernels().convert.norm(token.data(), token.size()));
  }
  return longest > 0 ? static_cast<float>(1 / longest) : 1;
}

Result<> write_vectors(const FieldColumn& column, const Encoding& encoding, std::size_t stride,
                       const BuildContext& context, WritableFile& file) {
  const auto n_at_a_time = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, kBufferBytes / (stride * kRowsOfATask)) * kRowsOfATask);
  for (std::uint32_t first = 0; first < column.n_rows; first += n_at_a_time) {
    QV_TRY(context.cancel.check());
    const std::uint32_t n = std::min(n_at_a_time, column.n_rows - first);
    std::vector<std::byte> rows(n * stride);
    ivf::for_each(context, (n + kRowsOfATask - 1) / kRowsOfATask, [&](std::size_t task) {
      const auto from = static_cast<std::uint32_t>(task) * kRowsOfATask;
      encoding.encode(first + from, std::min(kRowsOfATask, n - from), stride,
                      rows.data() + from * stride);
    });
    QV_TRY(file.append(rows));
    if (context.progress) context.progress(first + n);
  }
  return file.close();
}

}  // namespace

FieldSchema vector_schema(std::uint32_t dim) {
  return {"", FieldKind::kDense, dim, DType::kF16, Metric::kDot, SparseModifier::kNone};
}

Result<FieldColumn> encode_documents(const FieldColumn& column, const encoders::SetEncoder& encoder,
                                     const BuildContext& context, Directory& out,
                                     std::string_view name) {
  FieldColumn vectors;
  vectors.schema = vector_schema(encoder.dim());
  vectors.n_rows = column.n_rows;
  vectors.present = column.present;
  vectors.n_present = column.n_present;
  const std::size_t stride = padded_row_bytes(encoder.dim(), DType::kF16);
  const Encoding encoding(column, encoder, scale_for(column));
  QV_TRY(auto file, out.create_file(name));
  QV_TRY(write_vectors(column, encoding, stride, context, *file));
  QV_TRY(auto mapped, out.open_mapped(name));
  vectors.values = DenseColumn{shared_bytes(std::move(mapped)), encoder.dim(), DType::kF16};
  return vectors;
}

}  // namespace quiver::index::multi
