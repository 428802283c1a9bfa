#include "index/dense/lists/row_source.h"

#include "base/observe/held_memory.h"
#include "base/observe/memory_budget.h"
#include "base/prefetch.h"
#include "index/parallel.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

RowSource::RowSource(const FieldColumn& column, const RowTransform& transform)
    : column_(column),
      transform_(transform),
      normalise_(column.schema.metric == Metric::kCosine),
      rows_(list_present_rows(column)) {}

std::vector<std::uint32_t> RowSource::numbers() const {
  std::vector<std::uint32_t> numbers(column_.n_rows, 0);
  for (std::uint32_t i = 0; i < n(); ++i) numbers[rows_[i]] = i;
  return numbers;
}

void RowSource::read_stored(std::uint32_t i, float* out) const {
  const DenseColumn& column = column_.dense();
  to_floats(column.rows().row(rows_[i]), column.dtype, column.dim, out);
}

void RowSource::read_normal(std::uint32_t i, float* out) const {
  read_stored(i, out);
  if (normalise_) to_unit_length(out, column_.dense().dim);
}

void RowSource::read(std::uint32_t i, float* out) const {
  if (!kept_.empty()) {
    std::copy_n(&kept_[std::size_t{i} * dim()], dim(), out);
    return;
  }
  thread_local std::vector<float> values;
  values.resize(column_.dense().dim);
  read_normal(i, values.data());
  transform_.apply_to_row(values.data(), out);
}

void RowSource::prefetch(std::uint32_t i) const {
  if (!kept_.empty()) {
    prefetch_bytes<Nearness::kL2>(&kept_[std::size_t{i} * dim()], dim() * sizeof(float));
  } else {
    const DenseColumn& column = column_.dense();
    prefetch_bytes<Nearness::kL2>(column.rows().row(rows_[i]), column.stride());
  }
}

void RowSource::read_as_query(std::uint32_t i, float* out) const {
  std::vector<float> values(column_.dense().dim);
  read_normal(i, values.data());
  transform_.apply_to_query(values.data(), out);
}

void RowSource::keep(const BuildContext& context) {
  constexpr std::uint32_t kRowsPerTask = 256;
  if (!kept_.empty() || n() == 0) return;
  const std::size_t n_values = std::size_t{n()} * dim();
  if (!leaves_half_of_memory(n_values * sizeof(float))) return;
  // A promise until the rows are there, and count as memory in use.
  const auto promise =
      process_memory().promise(n_values * sizeof(float), "transformed rows of a build");
  if (!promise) return;
  std::vector<float> all(n_values);
  for_each(context, (n() + kRowsPerTask - 1) / kRowsPerTask, [&](std::size_t task) {
    if (!context.cancel.check()) return;
    const auto begin = static_cast<std::uint32_t>(task) * kRowsPerTask;
    for (std::uint32_t i = begin; i < std::min(n(), begin + kRowsPerTask); ++i) {
      read(i, &all[std::size_t{i} * dim()]);
    }
  });
  if (context.cancel.check()) kept_ = std::move(all);
}

std::vector<double> sampled_lengths(const RowSource& source) {
  constexpr std::uint32_t kMostRows = 1000;
  std::vector<double> lengths(std::min(source.n(), kMostRows));
  std::vector<float> row(source.dim());
  for (std::size_t j = 0; j < lengths.size(); ++j) {
    source.read(static_cast<std::uint32_t>(std::uint64_t{source.n()} * j / lengths.size()),
                row.data());
    lengths[j] = kernels().convert.norm(row.data(), row.size());
  }
  return lengths;
}

}  // namespace quiver::index::dense
