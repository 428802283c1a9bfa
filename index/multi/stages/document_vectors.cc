#include "index/multi/stages/document_vectors.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "index/multi/tokens/token_source.h"
#include "index/parallel.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {
namespace {

/// Documents encoded by one task.
constexpr std::uint32_t kVectorsPerTask = 64;
/// Documents that set the scale of all.
constexpr std::size_t kDocumentsForScale = 256;
constexpr std::size_t kBufferBytes = std::size_t{32} << 20;
/// Half of the largest f16.
constexpr float kLargestVectorValue = 32'752;

/// Encodes rows `[first, first + n)` of a column; absent rows are zero.
class DocumentEncoding {
 public:
  DocumentEncoding(const FieldColumn& column, const TokenSource& tokens,
                   const encoders::SetEncoder& encoder, float scale)
      : column_(column), tokens_(tokens), encoder_(encoder), scale_(scale) {}

  void encode(std::uint32_t first, std::uint32_t n, std::size_t stride, std::byte* out) const {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = first; row < first + n; ++row) {
      if (column_.present[row] != 0) rows.push_back(row);
    }
    std::vector<float> vectors;
    for_some_rows(tokens_, rows, [&](std::span<const std::uint32_t> some) {
      encode_rows(some, vectors);
      for (std::size_t i = 0; i < some.size(); ++i) {
        auto* to = reinterpret_cast<std::uint16_t*>(out + (some[i] - first) * stride);
        kernels().convert.f32_to_f16(vectors.data() + i * encoder_.dim(), encoder_.dim(), to);
      }
    });
  }

 private:
  void encode_rows(std::span<const std::uint32_t> rows, std::vector<float>& vectors) const {
    vectors.resize(rows.size() * encoder_.dim());
    encoder_.encode_documents(TokenSets(tokens_, rows).sets(), vectors.data());
    for (float& value : vectors)
      value = std::clamp(value * scale_, -kLargestVectorValue, kLargestVectorValue);
  }

  const FieldColumn& column_;
  const TokenSource& tokens_;
  const encoders::SetEncoder& encoder_;
  float scale_;
};

/// A power of two that scales vectors to about 1. f16 then has room for vectors 32,000 times as
/// long as the sampled ones.
float scale_for(const FieldColumn& column, const TokenSource& tokens,
                const encoders::SetEncoder& encoder) {
  const auto rows = list_present_rows(column);
  std::vector<std::uint32_t> some;
  const std::size_t step = std::max<std::size_t>(1, rows.size() / kDocumentsForScale);
  for (std::size_t i = 0; i < rows.size(); i += step) some.push_back(rows[i]);
  const auto looked_at = first_rows(tokens, some, kTokensPerBatch);
  std::vector<float> vectors(looked_at.size() * encoder.dim());
  encoder.encode_documents(TokenSets(tokens, looked_at).sets(), vectors.data());
  float largest = 0;
  for (const float value : vectors) largest = std::max(largest, std::abs(value));
  const bool has_scale = std::isnormal(largest) && std::isnormal(1 / largest);
  return has_scale ? std::ldexp(1.0F, -std::ilogb(largest)) : 1;
}

Result<> write_vectors(const FieldColumn& column, const DocumentEncoding& encoding,
                       std::size_t stride, const BuildContext& context, WritableFile& file) {
  const auto n_at_a_time = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, kBufferBytes / (stride * kVectorsPerTask)) * kVectorsPerTask);
  for (std::uint32_t first = 0; first < column.n_rows; first += n_at_a_time) {
    QV_TRY(context.cancel.check());
    const std::uint32_t n = std::min(n_at_a_time, column.n_rows - first);
    std::vector<std::byte> rows(n * stride);
    for_each(context, (n + kVectorsPerTask - 1) / kVectorsPerTask, [&](std::size_t task) {
      const auto from = static_cast<std::uint32_t>(task) * kVectorsPerTask;
      encoding.encode(first + from, std::min(kVectorsPerTask, n - from), stride,
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
  const TokenSource tokens(column);
  const DocumentEncoding encoding(column, tokens, encoder, scale_for(column, tokens, encoder));
  QV_TRY(auto file, out.create_file(name));
  QV_TRY(write_vectors(column, encoding, stride, context, *file));
  QV_TRY(auto mapped, out.open_mapped(name));
  vectors.values = DenseColumn{shared_bytes(std::move(mapped)), encoder.dim(), DType::kF16};
  return vectors;
}

}  // namespace quiver::index::multi
