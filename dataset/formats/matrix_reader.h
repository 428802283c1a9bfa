// Contiguous dense vectors: .npy, .fbin, .u8bin, .i8bin, IDX.
#pragma once

#include <memory>
#include <string>

#include "dataset/formats/array_stream.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

/// Limit of dimensions, so that a damaged header does not allocate absurd memory.
inline constexpr std::uint64_t kMaxDim = std::uint64_t{1} << 20;
/// Limit of values per call of `read`.
inline constexpr std::uint64_t kMaxBatchValues = std::uint64_t{1} << 24;

class MatrixReader final : public VectorReader {
 public:
  /// `values` has `n_rows * dim` values (`shape`) and stands at the first one.
  MatrixReader(ArrayStream values, const VectorShape& shape)
      : values_(std::move(values)), shape_(shape) {}

  [[nodiscard]] const VectorShape& shape() const override { return shape_; }
  [[nodiscard]] std::uint64_t position() const override { return row_; }
  Result<> read(std::size_t max_rows, VectorBatch& out) override;
  Result<> skip_to(std::uint64_t row) override;

 private:
  ArrayStream values_;
  VectorShape shape_;
  std::uint64_t row_ = 0;
};

/// A .npy of two dimensions.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_npy_matrix(const std::string& path);
/// big-ann-benchmarks: u32 rows, u32 dimension, then the values.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_bin_matrix(const std::string& path,
                                                                    ValueType type);
/// IDX, the format of MNIST: the first dimension is rows, the others make the vector.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_idx_matrix(const std::string& path);

/// Makes the error for a row beyond the end.
[[nodiscard]] Error no_such_row(const std::string& path, std::uint64_t row, std::uint64_t n_rows);

}  // namespace quiver::dataset
