// Dense vectors that lie one after another: .npy, .fbin, .u8bin, .i8bin, IDX.
#pragma once

#include <memory>
#include <string>

#include "dataset/formats/array_stream.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

/// No file of vectors has more; keeps a damaged head from asking for absurd memory.
inline constexpr std::uint64_t kMaxDim = std::uint64_t{1} << 20;
/// Bounds what one call of `read` gives when everything is asked for.
inline constexpr std::uint64_t kMaxBatchValues = std::uint64_t{1} << 24;

class MatrixReader final : public VectorReader {
 public:
  /// `values` holds `n_rows * dim` of `shape`, and stands at the first.
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

/// Two dimensions.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_npy_matrix(const std::string& path);
/// big-ann-benchmarks: u32 rows, u32 dimension, then the values.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_bin_matrix(const std::string& path,
                                                                    ValueType type);
/// As of MNIST; one dimension for rows, the others make the vector.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_idx_matrix(const std::string& path);

/// The error for a row that `skip_to` does not reach.
[[nodiscard]] Error no_such_row(const std::string& path, std::uint64_t row, std::uint64_t n_rows);

}  // namespace quiver::dataset
