#include "app/import/plan/column_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "dataset/formats/array_stream.h"

namespace quiver::app {
namespace {

using dataset::VectorBatch;

void append(VectorBatch& to, const VectorBatch& from) {
  to.n_rows += from.n_rows;
  to.values.insert(to.values.end(), from.values.begin(), from.values.end());
  to.indices.insert(to.indices.end(), from.indices.begin(), from.indices.end());
  if (from.offsets.empty()) return;
  const std::uint64_t base = to.offsets.empty() ? 0 : to.offsets.back();
  if (to.offsets.empty()) to.offsets.push_back(0);
  std::transform(from.offsets.begin() + 1, from.offsets.end(), std::back_inserter(to.offsets),
                 [&](std::uint64_t offset) { return base + offset; });
}

/// Compares exponents only, so that the loop vectorizes.
bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t n_bad = 0;
  for (const float value : values) {
    n_bad +=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  }
  return n_bad == 0;
}

std::string name_infinite(std::span<const float> values) {
  const auto at = std::find_if_not(values.begin(), values.end(),
                                   [](float value) { return std::isfinite(value); });
  return fmt::format("value {} is {}, wanted a finite one", at - values.begin(), *at);
}

/// True for a sparse row without entries and a multi-vector without tokens.
bool is_empty_row(const VectorColumn& column, std::size_t i) {
  return column.kind != FieldKind::kDense && column.batch.offsets[i] == column.batch.offsets[i + 1];
}

Result<std::vector<std::uint8_t>> read_mask(const std::string& path) {
  QV_TRY(auto array, dataset::open_npy(path));
  std::vector<float> values;
  QV_TRY(const std::size_t n, array.values.read(array.values.size(), values));
  if (n < array.values.size()) return fail(array.values.broken_off(n, n));
  return std::vector<std::uint8_t>(values.begin(), values.end());
}

}  // namespace

Result<ColumnReader> ColumnReader::open(SourceSpec spec) {
  QV_TRY(auto reader, dataset::open_vectors(spec.source, spec.kind));
  ColumnReader column(std::move(spec), std::move(reader));
  if (!column.spec_.present.empty()) {
    QV_TRY(column.present_, read_mask(column.spec_.present));
  }
  return column;
}

DType ColumnReader::type() const {
  if (spec_.scale != 1) return DType::kF32;
  if (shape().type == dataset::ValueType::kF16) return DType::kF16;
  return shape().type == dataset::ValueType::kU8 ? DType::kU8 : DType::kF32;
}

Result<std::size_t> ColumnReader::read(std::size_t n, VectorColumn& out) {
  const std::uint64_t first_row = reader_->position();
  QV_TRY(reader_->read(n, out.batch));
  while (out.batch.n_rows > 0 && out.batch.n_rows < n) {
    QV_TRY(reader_->read(n - out.batch.n_rows, rest_));
    if (rest_.n_rows == 0) break;
    append(out.batch, rest_);
  }
  out.name = spec_.name;
  out.kind = spec_.kind;
  out.dim = shape().dim;
  out.type = type();
  if (spec_.scale != 1) {
    const auto factor = static_cast<float>(spec_.scale);
    for (float& value : out.batch.values) value *= factor;
  }
  mark_present(first_row, out);
  return out.batch.n_rows;
}

Result<> ColumnReader::skip_to(std::uint64_t row) { return reader_->skip_to(row); }

/// Without a mask file, a row without entries or tokens is a point without this vector.
void ColumnReader::mark_present(std::uint64_t first_row, VectorColumn& column) const {
  column.present.assign(column.batch.n_rows, 1);
  for (std::size_t i = 0; i < column.batch.n_rows; ++i) {
    const std::uint64_t row = first_row + i;
    const bool is_present =
        present_.empty() ? !is_empty_row(column, i) : row < present_.size() && present_[row] != 0;
    column.present[i] = static_cast<std::uint8_t>(is_present);
  }
}

std::optional<std::string> problem_of(const VectorColumn& column, std::size_t i) {
  if (column.kind == FieldKind::kDense) {
    const auto values = dense_row(column, i);
    return all_finite(values) ? std::nullopt : std::optional(name_infinite(values));
  }
  if (column.kind == FieldKind::kMulti) {
    const auto values = multi_row(column, i);
    return all_finite(values) ? std::nullopt : std::optional(name_infinite(values));
  }
  const SparseRow row = sparse_row(column, i);
  if (!all_finite(row.values)) return name_infinite(row.values);
  const auto index = dataset::repeated_index(column.batch, i);
  if (!index) return std::nullopt;
  return fmt::format("found index {} twice, wanted each once", *index);
}

}  // namespace quiver::app
