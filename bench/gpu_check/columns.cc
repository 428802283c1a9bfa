#include "bench/gpu_check/columns.h"

#include <cmath>
#include <cstring>
#include <set>

#include "base/io/append_buffer.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::bench {
namespace {

const FieldSchema kSparse = {"",          FieldKind::kSparse, 0,
                             DType::kF32, Metric::kDot,       SparseModifier::kNone};

}  // namespace

Values random_values(std::size_t n, std::size_t dim, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Values values{dim, std::vector<float>(n * dim)};
  for (float& value : values.values) value = normal(random);
  return values;
}

Values clumps(std::size_t n, std::size_t dim, std::size_t n_centres, std::mt19937& random) {
  const Values centres = random_values(n_centres, dim, random);
  Values values = random_values(n, dim, random);
  for (std::size_t i = 0; i < n; ++i) {
    const auto centre = centres.row(random() % n_centres);
    for (std::size_t d = 0; d < dim; ++d) {
      values.values[i * dim + d] = 0.7F * values.values[i * dim + d] + centre[d];
    }
  }
  return values;
}

index::FieldColumn column_of(const Values& values, std::size_t n_rows, DType dtype, Metric metric) {
  index::FieldColumn column;
  column.schema = {"",     FieldKind::kDense,    static_cast<std::uint32_t>(values.dim), dtype,
                   metric, SparseModifier::kNone};
  column.n_rows = column.n_present = static_cast<std::uint32_t>(n_rows);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_rows, 1));
  AppendBuffer<std::byte> rows;
  rows.reserve(n_rows * padded_row_bytes(column.schema.dim, dtype));
  for (std::size_t i = 0; i < n_rows; ++i) {
    std::byte* const row = rows.append_zeros(padded_row_bytes(column.schema.dim, dtype));
    const float* const from = values.row(i).data();
    if (dtype == DType::kF32) std::memcpy(row, from, values.dim * sizeof(float));
    if (dtype == DType::kF16) {
      kernels().convert.f32_to_f16(from, values.dim, reinterpret_cast<std::uint16_t*>(row));
    }
  }
  column.values = index::DenseColumn{rows.view(), column.schema.dim, dtype};
  return column;
}

index::FieldColumn documents_of(std::size_t n_documents, std::size_t n_tokens, std::size_t dim,
                                std::mt19937& random) {
  index::FieldColumn column;
  column.schema = {"",          FieldKind::kMulti, static_cast<std::uint32_t>(dim),
                   DType::kF16, Metric::kCosine,   SparseModifier::kNone};
  column.n_rows = column.n_present = static_cast<std::uint32_t>(n_documents);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_documents, 1));
  std::vector<std::uint64_t> offsets = {0};
  AppendBuffer<std::byte> tokens;
  std::normal_distribution<float> normal;
  std::vector<float> token(dim);
  for (std::size_t i = 0; i < n_documents; ++i) {
    const std::size_t n = 1 + random() % (2 * n_tokens);
    offsets.push_back(offsets.back() + n);
    for (std::size_t t = 0; t < n; ++t) {
      for (float& value : token) value = normal(random);
      index::to_unit_length(token.data(), static_cast<std::uint32_t>(dim));
      std::byte* const row =
          tokens.append_zeros(padded_row_bytes(column.schema.dim, column.schema.dtype));
      kernels().convert.f32_to_f16(token.data(), dim, reinterpret_cast<std::uint16_t*>(row));
    }
  }
  column.values = index::MultiColumn{SharedSpan<std::uint64_t>::of(std::move(offsets)),
                                     {tokens.view(), column.schema.dim, column.schema.dtype}};
  return column;
}

SparseRows generated(std::size_t n, std::size_t n_terms, std::mt19937& random) {
  constexpr double kTerms = 30'000;
  std::uniform_real_distribution<double> uniform;
  std::exponential_distribution<float> weight(1.5F);
  SparseRows rows;
  rows.n_rows = n;
  rows.offsets = {0};
  for (std::size_t i = 0; i < n; ++i) {
    std::set<std::uint32_t> terms;
    while (terms.size() < n_terms) {
      terms.insert(static_cast<std::uint32_t>(std::pow(kTerms, uniform(random))) - 1);
    }
    for (const std::uint32_t term : terms) {
      rows.indices.push_back(term);
      rows.values.push_back(weight(random));
    }
    rows.offsets.push_back(rows.indices.size());
  }
  return rows;
}

index::FieldColumn column_of(const SparseRows& rows, std::size_t n_rows) {
  const std::size_t n_values = rows.offsets[n_rows];
  const auto first = [](const auto& from, std::size_t n) {
    return std::vector(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n));
  };
  index::FieldColumn column;
  column.schema = kSparse;
  column.n_rows = column.n_present = static_cast<std::uint32_t>(n_rows);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_rows, 1));
  index::SparseColumn values;
  values.offsets = SharedSpan<std::uint64_t>::of(first(rows.offsets, n_rows + 1));
  values.indices = SharedSpan<std::uint32_t>::of(first(rows.indices, n_values));
  values.values = SharedSpan<float>::of(first(rows.values, n_values));
  column.values = std::move(values);
  return column;
}

index::PreparedQuery query_of(const SparseRows& rows, std::size_t i) {
  const std::size_t first = rows.offsets[i];
  const std::size_t n = rows.offsets[i + 1] - first;
  return index::PreparedQuery::sparse(kSparse, {std::span(rows.indices).subspan(first, n),
                                                std::span(rows.values).subspan(first, n)});
}

}  // namespace quiver::bench
