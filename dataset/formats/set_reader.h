// Rows of different lengths: sparse vectors (CSR) and multi-vectors (ragged).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/formats/array_stream.h"
#include "dataset/formats/row_offsets.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

class SparseReader final : public VectorReader {
 public:
  /// `dim` is 0 if unknown. Otherwise, indices must be below it.
  SparseReader(RowOffsets offsets, ArrayStream indices, ArrayStream values, std::uint32_t dim);

  [[nodiscard]] const VectorShape& shape() const override { return shape_; }
  [[nodiscard]] std::uint64_t position() const override { return offsets_.row(); }
  Result<> read(std::size_t max_rows, VectorBatch& out) override;
  Result<std::size_t> rows_within(std::size_t max_rows, std::uint64_t max_bytes) override {
    return offsets_.rows_within(max_rows, max_bytes / (sizeof(float) + sizeof(std::uint32_t)));
  }
  Result<> skip_to(std::uint64_t row) override;

 private:
  Result<> read_indices(VectorBatch& out);
  Result<> append_indices(std::span<const std::int64_t> found, VectorBatch& out) const;
  void sort_rows(VectorBatch& batch);

  RowOffsets offsets_;
  ArrayStream indices_;
  ArrayStream values_;
  VectorShape shape_;
  std::vector<std::int64_t> scratch_;
  std::vector<std::pair<std::uint32_t, float>> entries_;  ///< row that is being sorted
};

class MultiReader final : public VectorReader {
 public:
  /// `values` are `[n_tokens, dim]`.
  MultiReader(RowOffsets offsets, ArrayStream values, std::uint32_t dim);

  [[nodiscard]] const VectorShape& shape() const override { return shape_; }
  [[nodiscard]] std::uint64_t position() const override { return offsets_.row(); }
  Result<> read(std::size_t max_rows, VectorBatch& out) override;
  Result<std::size_t> rows_within(std::size_t max_rows, std::uint64_t max_bytes) override {
    return offsets_.rows_within(max_rows, max_bytes / (shape_.dim * sizeof(float)));
  }
  Result<> skip_to(std::uint64_t row) override;

 private:
  RowOffsets offsets_;
  ArrayStream values_;
  VectorShape shape_;
};

/// PREFIX.indptr.npy, PREFIX.indices.npy and PREFIX.values.npy, each plain or compressed.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_npy_sparse(const std::string& prefix);
/// PREFIX.indptr.npy and PREFIX.values.npy or PREFIX.npy, each plain or compressed.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_npy_multi(const std::string& prefix);
/// big-ann-benchmarks: i64 rows, columns, entries; i64 indptr; i32 indices; f32 values. A
/// compressed file is decompressed three times, so that none of it has to fit in memory.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_csr(const std::string& path);

}  // namespace quiver::dataset
