#include "bench/ann/vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/io/append_buffer.h"
#include "base/io/file.h"
#include "base/schema_names.h"
#include "engine/model/row.h"
#include "kernels/kernels.h"

namespace quiver::bench {
namespace {

constexpr std::size_t kReadRows = 1024;

template <class T>
Bytes bytes_of(std::span<const T> values) {
  return std::as_bytes(values);
}

template <class T>
std::vector<T> slice(const std::vector<T>& values, std::size_t first, std::size_t end) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first),
          values.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Copies a row of a batch into `value`, in the engine's form of user input.
void take_row(const FieldSchema& schema, const dataset::VectorBatch& batch, std::size_t row,
              engine::VectorValue& value) {
  const std::size_t dim = schema.dim;
  if (schema.kind == FieldKind::kDense) {
    value.emplace<engine::DenseVector>(slice(batch.values, row * dim, (row + 1) * dim));
    return;
  }
  const std::size_t first = batch.offsets[row];
  const std::size_t end = batch.offsets[row + 1];
  if (schema.kind == FieldKind::kSparse) {
    value.emplace<engine::SparseVector>(
        engine::SparseVector{slice(batch.indices, first, end), slice(batch.values, first, end)});
    return;
  }
  value.emplace<engine::MultiVector>(
      engine::MultiVector{static_cast<std::uint32_t>(end - first), schema.dim,
                          slice(batch.values, first * dim, end * dim)});
}

Error in_row(const Error& error, const std::string& source, std::uint64_t row) {
  return {error.code(), fmt::format("{}: row {}: {}", source, row, error.message())};
}

std::span<const float> numbers_of(const engine::VectorValue& value) {
  if (const auto* dense = std::get_if<engine::DenseVector>(&value)) return *dense;
  const auto* multi = std::get_if<engine::MultiVector>(&value);
  return multi == nullptr ? std::span<const float>() : std::span<const float>(multi->values);
}

/// Builds a column row by row.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(const FieldSchema& schema) : schema_(schema) { offsets_.append(0); }

  void reserve(std::uint64_t n_rows) {
    if (schema_.kind == FieldKind::kDense) bytes_.reserve(n_rows * stride());
  }
  Result<> add(const dataset::VectorBatch& batch, std::size_t row) {
    if (schema_.kind == FieldKind::kMulti && batch.offsets[row] == batch.offsets[row + 1]) {
      add_absent();
      return {};
    }
    take_row(schema_, batch, row, value_);
    QV_TRY(engine::check_range(schema_, numbers_of(value_)));
    QV_TRY(const auto stored, engine::to_stored(schema_, value_));
    if (const auto* sparse = std::get_if<engine::SparseVector>(&stored)) {
      add_sparse(*sparse);
    } else {
      add_tokens(std::get<engine::Tokens>(stored));
    }
    present_.push_back(1);
    return {};
  }
  index::FieldColumn finish() && {
    index::FieldColumn column;
    column.schema = schema_;
    column.n_rows = static_cast<std::uint32_t>(present_.size());
    column.n_present =
        static_cast<std::uint32_t>(std::count(present_.begin(), present_.end(), std::uint8_t{1}));
    column.present = SharedSpan<std::uint8_t>::of(std::move(present_));
    const index::DenseColumn dense{bytes_.view(), schema_.dim, schema_.dtype};
    if (schema_.kind == FieldKind::kDense) column.values = dense;
    if (schema_.kind == FieldKind::kMulti)
      column.values = index::MultiColumn{offsets_.view(), dense};
    if (schema_.kind == FieldKind::kSparse) {
      column.values = index::SparseColumn{offsets_.view(), indices_.view(), values_.view()};
    }
    return column;
  }

 private:
  [[nodiscard]] std::size_t stride() const { return padded_row_bytes(schema_.dim, schema_.dtype); }
  void add_absent() {
    present_.push_back(0);
    offsets_.append(offsets_.span().back());
  }
  void add_sparse(const engine::SparseVector& vector) {
    indices_.append(vector.indices);
    values_.append(vector.values);
    offsets_.append(indices_.size());
  }
  void add_tokens(const engine::Tokens& tokens) {
    const std::size_t n_bytes = tokens.bytes.size() / tokens.n_tokens;
    for (std::size_t t = 0; t < tokens.n_tokens; ++t) {
      std::memcpy(bytes_.append_zeros(stride()), tokens.bytes.data() + t * n_bytes, n_bytes);
    }
    if (schema_.kind == FieldKind::kMulti) offsets_.append(bytes_.size() / stride());
  }

  FieldSchema schema_;
  engine::VectorValue value_;  ///< scratch: the current row
  std::vector<std::uint8_t> present_;
  AppendBuffer<std::uint64_t> offsets_;
  AppendBuffer<std::uint32_t> indices_;
  AppendBuffer<float> values_;
  AppendBuffer<std::byte> bytes_;
};

Result<> check_size(const std::string& source, std::uint64_t n_rows) {
  if (n_rows == 0) return fail(Code::kInvalidArgument, fmt::format("{}: no rows", source));
  if (n_rows >= UINT32_MAX) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} rows, wanted fewer than {}", source, n_rows, UINT32_MAX));
  }
  return {};
}

}  // namespace

Result<FieldSchema> parse_schema(const std::string& kind, const std::string& metric,
                                 const std::string& dtype) {
  FieldSchema schema;
  QV_TRY(schema.kind, parse_kind(kind));
  QV_TRY(schema.metric, parse_metric(metric));
  QV_TRY(schema.dtype, parse_dtype(dtype));
  if (schema.kind == FieldKind::kSparse &&
      (schema.metric != Metric::kDot || schema.dtype != DType::kF32)) {
    return fail(Code::kInvalidArgument,
                fmt::format("sparse vectors are compared by dot and kept as f32, not by {} as {}",
                            metric, dtype));
  }
  return schema;
}

Result<index::FieldColumn> load_column(const std::string& source, FieldSchema schema,
                                       dataset::RowRange range) {
  QV_TRY(auto reader, dataset::open_vectors(source, schema.kind));
  if (schema.kind != FieldKind::kSparse) schema.dim = reader->shape().dim;
  QV_TRY(reader->skip_to(range.first));
  ColumnBuilder builder(schema);
  const std::uint64_t end = std::min(range.end, reader->shape().n_rows.value_or(range.end));
  if (reader->shape().n_rows && end > range.first) builder.reserve(end - range.first);
  dataset::VectorBatch batch;
  std::uint64_t n_rows = 0;
  while (range.first + n_rows < end) {
    QV_TRY(reader->read(std::min<std::uint64_t>(kReadRows, end - range.first - n_rows), batch));
    if (batch.n_rows == 0) break;
    for (std::size_t row = 0; row < batch.n_rows; ++row, ++n_rows) {
      const auto added = builder.add(batch, row);
      if (!added) return fail(in_row(added.error(), source, range.first + n_rows));
    }
  }
  QV_TRY(check_size(source, n_rows));
  return std::move(builder).finish();
}

Result<index::FieldColumn> make_column(const dataset::VectorBatch& rows, const FieldSchema& schema,
                                       std::span<const std::uint32_t> which) {
  ColumnBuilder builder(schema);
  builder.reserve(which.size());
  for (const std::uint32_t row : which) {
    const auto added = builder.add(rows, row);
    if (!added) {
      return fail(added.error().code(), fmt::format("row {}: {}", row, added.error().message()));
    }
  }
  return std::move(builder).finish();
}

std::uint64_t column_bytes(const index::FieldColumn& column) {
  switch (column.schema.kind) {
    case FieldKind::kDense:
      return column.dense().bytes.size();
    case FieldKind::kSparse: {
      const auto& sparse = column.sparse();
      return sparse.offsets.span().size_bytes() + sparse.indices.span().size_bytes() +
             sparse.values.span().size_bytes();
    }
    case FieldKind::kMulti:
      return column.multi().offsets.span().size_bytes() + column.multi().tokens.bytes.size();
  }
  return 0;
}

std::uint64_t digest(const index::FieldColumn& column) {
  Checksum sum;
  const FieldSchema& schema = column.schema;
  const std::uint32_t head[] = {
      static_cast<std::uint32_t>(schema.kind), static_cast<std::uint32_t>(schema.metric),
      static_cast<std::uint32_t>(schema.dtype), schema.dim, column.n_rows};
  sum.update(bytes_of<std::uint32_t>(head));
  if (schema.kind == FieldKind::kDense) sum.update(column.dense().bytes.span());
  if (schema.kind == FieldKind::kMulti) {
    sum.update(bytes_of(column.multi().offsets.span()));
    sum.update(column.multi().tokens.bytes.span());
  }
  if (schema.kind == FieldKind::kSparse) {
    sum.update(bytes_of(column.sparse().offsets.span()));
    sum.update(bytes_of(column.sparse().indices.span()));
    sum.update(bytes_of(column.sparse().values.span()));
  }
  return sum.digest();
}

Result<QuerySet> QuerySet::load(const std::string& source, const FieldSchema& schema,
                                dataset::RowRange range) {
  QV_TRY(auto vectors, dataset::load_vectors(source, schema.kind, range));
  return of(std::move(vectors), schema, source);
}

Result<QuerySet> QuerySet::of(dataset::Vectors vectors, const FieldSchema& schema,
                              const std::string& source) {
  QV_TRY(check_size(source, vectors.n_rows()));
  FieldSchema found = schema;
  if (schema.kind != FieldKind::kSparse) found.dim = vectors.shape.dim;
  if (found.dim != schema.dim) {
    return fail(Code::kInvalidArgument, fmt::format("{}: queries of {} dimensions, rows of {}",
                                                    source, found.dim, schema.dim));
  }
  engine::VectorValue value;
  for (std::size_t i = 0; i < vectors.n_rows(); ++i) {
    take_row(schema, vectors.batch, i, value);
    const auto checked = engine::check_vector(schema, value);
    if (!checked) return fail(in_row(checked.error(), source, vectors.batch.first_row + i));
  }
  return QuerySet(schema, std::move(vectors));
}

index::PreparedQuery QuerySet::prepare(std::size_t i) const {
  const auto& batch = vectors_.batch;
  const std::span<const float> values = batch.values;
  const std::size_t dim = schema_.dim;
  if (schema_.kind == FieldKind::kDense) {
    return index::PreparedQuery::dense(schema_, values.subspan(i * dim, dim));
  }
  const std::size_t first = batch.offsets[i];
  const std::size_t n = batch.offsets[i + 1] - first;
  if (schema_.kind == FieldKind::kMulti) {
    return index::PreparedQuery::multi(schema_, values.subspan(first * dim, n * dim));
  }
  const std::span<const std::uint32_t> indices = batch.indices;
  return index::PreparedQuery::sparse(schema_,
                                      {indices.subspan(first, n), values.subspan(first, n)});
}

double QuerySet::length(std::size_t i) const {
  const auto& batch = vectors_.batch;
  const bool is_dense = schema_.kind == FieldKind::kDense;
  const std::size_t first = is_dense ? i : batch.offsets[i];
  const std::size_t n = is_dense ? 1 : batch.offsets[i + 1] - first;
  if (schema_.kind == FieldKind::kSparse) {
    return kernels().convert.norm(batch.values.data() + first, n);
  }
  if (schema_.metric == Metric::kCosine) return static_cast<double>(n);
  double sum = 0;
  for (std::size_t t = first; t < first + n; ++t) {
    sum += kernels().convert.norm(batch.values.data() + t * schema_.dim, schema_.dim);
  }
  return sum;
}

std::uint64_t QuerySet::digest() const {
  Checksum sum;
  sum.update(bytes_of(std::span<const float>(vectors_.batch.values)));
  sum.update(bytes_of(std::span<const std::uint64_t>(vectors_.batch.offsets)));
  sum.update(bytes_of(std::span<const std::uint32_t>(vectors_.batch.indices)));
  return sum.digest();
}

}  // namespace quiver::bench
