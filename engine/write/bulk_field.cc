#include "engine/write/bulk_field.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <functional>

#include "engine/model/row.h"

namespace quiver::engine {
namespace {

/// Converts one field of the chunk.
class FieldMaker {
 public:
  FieldMaker(std::span<const PointId> ids, const BulkField& field, const FieldSchema& schema,
             Executor& executor)
      : ids_(ids), field_(field), schema_(schema), executor_(executor) {
    column_.schema = schema;
    column_.n_rows = static_cast<std::uint32_t>(ids_.size());
  }

  Result<index::FieldColumn> make() {
    QV_TRY(make_present());
    switch (schema_.kind) {
      case FieldKind::kDense:
        QV_TRY(make_dense());
        break;
      case FieldKind::kSparse:
        QV_TRY(make_sparse());
        break;
      case FieldKind::kMulti:
        QV_TRY(make_multi());
        break;
    }
    return std::move(column_);
  }

 private:
  Result<> make_present() {
    std::vector<std::uint8_t> present(ids_.size(), 1);
    if (!field_.present.empty()) {
      QV_TRY(check_length("`present`", field_.present.size(), ids_.size()));
      for (std::size_t i = 0; i < present.size(); ++i) present[i] = field_.present[i] != 0 ? 1 : 0;
    }
    column_.n_present =
        static_cast<std::uint32_t>(std::count(present.begin(), present.end(), std::uint8_t{1}));
    column_.present = SharedSpan<std::uint8_t>::of(std::move(present));
    return {};
  }
  [[nodiscard]] bool is_present(std::size_t row) const { return column_.present[row] != 0; }

  template <class Rows>
  Result<Rows> rows() const {
    if (const auto* rows = std::get_if<Rows>(&field_.rows)) return *rows;
    constexpr std::string_view kNames[] = {"dense", "sparse", "multi"};
    return fail(
        Code::kInvalidArgument,
        fmt::format("vector `{}` is {}, but the bulk chunk has {} rows", schema_.name,
                    kNames[static_cast<std::size_t>(schema_.kind)], kNames[field_.rows.index()]));
  }

  Result<> make_dense() {
    QV_TRY(const auto dense, rows<DenseRows>());
    const std::size_t dim = schema_.dim;
    QV_TRY(check_length("a dense field", dense.values.size(), ids_.size() * dim));
    const std::size_t stride = padded_row_bytes(schema_.dim, schema_.dtype);
    const bool as_it_is = schema_.dtype == DType::kF32 && schema_.metric != Metric::kCosine &&
                          stride == dim * sizeof(float) && column_.all_present();
    std::vector<std::byte> bytes(as_it_is ? 0 : ids_.size() * stride);
    const auto convert = [&](BulkBlock block) -> Result<> {
      std::vector<std::byte> unused(as_it_is ? stride : 0);
      for (std::size_t i = block.first; i < block.end; ++i) {
        if (!is_present(i)) continue;
        std::byte* out = as_it_is ? unused.data() : bytes.data() + i * stride;
        QV_TRY(store(i, dense.values.subspan(i * dim, dim), out));
      }
      return {};
    };
    QV_TRY(for_each_block(ids_.size(), executor_, convert));
    column_.values = index::DenseColumn{
        as_it_is ? borrow(std::as_bytes(dense.values)) : SharedBytes::of(std::move(bytes)),
        schema_.dim, schema_.dtype};
    return {};
  }
  Result<> store(std::size_t row, std::span<const float> values, std::byte* out) const {
    auto stored = check_range(schema_, values);
    if (stored) stored = store_values(schema_, values, out);
    if (!stored) return about(ids_[row], stored.error());
    return {};
  }

  Result<> check_offsets(std::span<const std::uint64_t> offsets, std::uint64_t total) const {
    QV_TRY(check_length("`offsets`", offsets.size(), ids_.size() + 1));
    if (!std::is_sorted(offsets.begin(), offsets.end()) || offsets.back() > total) {
      return fail(Code::kInvalidArgument,
                  fmt::format("bulk chunk: the offsets of `{}` do not ascend to at most {}",
                              schema_.name, total));
    }
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (is_present(i) || offsets[i] == offsets[i + 1]) continue;
      return fail(Code::kInvalidArgument,
                  fmt::format("point {}: vector `{}` is absent but has entries",
                              ids_[i].to_string(), schema_.name));
    }
    return {};
  }

  Result<> make_sparse() {
    QV_TRY(const auto sparse, rows<SparseRows>());
    QV_TRY(
        check_length("the values of a sparse field", sparse.values.size(), sparse.indices.size()));
    QV_TRY(check_offsets(sparse.offsets, sparse.indices.size()));
    index::SparseColumn column{borrow(sparse.offsets), borrow(sparse.indices),
                               borrow(sparse.values)};
    std::atomic<bool> sorted = true;
    const auto check = [&](BulkBlock block) -> Result<> {
      for (std::size_t i = block.first; i < block.end; ++i) {
        const SparseView view = column.row(i);
        const bool ascending = is_ascending(view.indices);
        if (!ascending) sorted = false;
        if (!ascending || !is_finite(view.values)) QV_TRY(stored_sparse(i, view));
      }
      return {};
    };
    QV_TRY(for_each_block(ids_.size(), executor_, check));
    if (!sorted) QV_TRY(sort_rows(column));
    column_.values = std::move(column);
    return {};
  }
  static bool is_ascending(std::span<const std::uint32_t> indices) {
    return std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<>()) ==
           indices.end();
  }
  static bool is_finite(std::span<const float> values) {
    return std::all_of(values.begin(), values.end(),
                       [](float value) { return std::isfinite(value); });
  }
  Result<SparseVector> stored_sparse(std::size_t row, const SparseView& view) const {
    const SparseVector vector{{view.indices.begin(), view.indices.end()},
                              {view.values.begin(), view.values.end()}};
    auto stored = to_stored(schema_, vector);
    if (!stored) return about(ids_[row], stored.error());
    return std::get<SparseVector>(*std::move(stored));
  }
  /// Copies the entries, each row sorted by index.
  Result<> sort_rows(index::SparseColumn& column) {
    const std::uint64_t base = column.offsets[0];
    std::vector<std::uint64_t> offsets(column.offsets.begin(), column.offsets.end());
    for (auto& offset : offsets) offset -= base;
    std::vector<std::uint32_t> indices(offsets.back());
    std::vector<float> values(offsets.back());
    const auto sort = [&](BulkBlock block) -> Result<> {
      for (std::size_t i = block.first; i < block.end; ++i) {
        QV_TRY(const auto row, stored_sparse(i, column.row(i)));
        const auto at = static_cast<std::ptrdiff_t>(offsets[i]);
        std::copy(row.indices.begin(), row.indices.end(), indices.begin() + at);
        std::copy(row.values.begin(), row.values.end(), values.begin() + at);
      }
      return {};
    };
    QV_TRY(for_each_block(ids_.size(), executor_, sort));
    column = {SharedSpan<std::uint64_t>::of(std::move(offsets)),
              SharedSpan<std::uint32_t>::of(std::move(indices)),
              SharedSpan<float>::of(std::move(values))};
    return {};
  }

  Result<> make_multi() {
    QV_TRY(const auto multi, rows<MultiRows>());
    const std::size_t dim = schema_.dim;
    if (multi.values.size() % dim != 0) {
      return fail(Code::kInvalidArgument,
                  fmt::format("bulk chunk: {} values of `{}` do not make tokens of {}",
                              multi.values.size(), schema_.name, dim));
    }
    QV_TRY(check_offsets(multi.offsets, multi.values.size() / dim));
    const std::uint64_t base = multi.offsets.front();
    std::vector<std::uint64_t> offsets(multi.offsets.begin(), multi.offsets.end());
    for (auto& offset : offsets) offset -= base;
    const std::size_t stride = padded_row_bytes(schema_.dim, schema_.dtype);
    std::vector<std::byte> bytes(offsets.back() * stride);
    const auto convert = [&](BulkBlock block) -> Result<> {
      for (std::size_t i = block.first; i < block.end; ++i) {
        if (is_present(i) && offsets[i] == offsets[i + 1]) {
          return about(ids_[i], check_vector(schema_, MultiVector{0, schema_.dim, {}}).error());
        }
        for (std::uint64_t t = offsets[i]; t < offsets[i + 1]; ++t) {
          QV_TRY(store(i, multi.values.subspan((base + t) * dim, dim), bytes.data() + t * stride));
        }
      }
      return {};
    };
    QV_TRY(for_each_block(ids_.size(), executor_, convert));
    const index::DenseColumn tokens{SharedBytes::of(std::move(bytes)), schema_.dim, schema_.dtype};
    column_.values = index::MultiColumn{SharedSpan<std::uint64_t>::of(std::move(offsets)), tokens};
    return {};
  }

  const std::span<const PointId> ids_;
  const BulkField& field_;
  const FieldSchema& schema_;
  Executor& executor_;
  index::FieldColumn column_;
};

}  // namespace

tl::unexpected<Error> about(const PointId& id, const Error& error) {
  return fail(error.code(), fmt::format("point {}: {}", id.to_string(), error.message()));
}

Result<> check_length(std::string_view what, std::size_t got, std::size_t wanted) {
  if (got == wanted) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("bulk chunk: {} has {} elements, must have {}", what, got, wanted));
}

Result<index::FieldColumn> make_column(std::span<const PointId> ids, const BulkField& field,
                                       const FieldSchema& schema, Executor& executor) {
  return FieldMaker(ids, field, schema, executor).make();
}

}  // namespace quiver::engine
