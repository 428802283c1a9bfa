#include <fmt/format.h>

#include <algorithm>

#include "dataset/formats/hdf5.h"
#include "dataset/formats/matrix_reader.h"

namespace quiver::dataset {
namespace {

class Hdf5Reader final : public VectorReader {
 public:
  explicit Hdf5Reader(Hdf5Matrix matrix) : matrix_(std::move(matrix)) {
    shape_.type = matrix_.type();
    shape_.dim = static_cast<std::uint32_t>(matrix_.n_columns());
    shape_.n_rows = matrix_.n_rows();
  }

  const VectorShape& shape() const override { return shape_; }
  std::uint64_t position() const override { return row_; }

  Result<> read(std::size_t max_rows, VectorBatch& out) override {
    const std::uint64_t cap = std::max<std::uint64_t>(kMaxBatchValues / shape_.dim, 1);
    const std::uint64_t n_rows = std::min({std::uint64_t{max_rows}, *shape_.n_rows - row_, cap});
    out.offsets.clear();
    out.indices.clear();
    out.values.resize(static_cast<std::size_t>(n_rows * shape_.dim));
    QV_TRY(matrix_.read(row_, n_rows, out.values.data()));
    out.first_row = row_;
    out.n_rows = static_cast<std::size_t>(n_rows);
    row_ += n_rows;
    return {};
  }

  Result<> skip_to(std::uint64_t row) override {
    if (row > *shape_.n_rows) return fail(no_such_row(matrix_.name(), row, *shape_.n_rows));
    row_ = row;
    return {};
  }

 private:
  Hdf5Matrix matrix_;
  VectorShape shape_;
  std::uint64_t row_ = 0;
};

}  // namespace

Result<std::unique_ptr<VectorReader>> open_hdf5_vectors(const std::string& path,
                                                        const std::string& dataset) {
  QV_TRY(Hdf5Matrix matrix, Hdf5Matrix::open(path, dataset));
  const std::uint64_t dim = matrix.n_columns();
  if (dim < 1 || dim > kMaxDim) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: found dimension {}, wanted 1 to {}", matrix.name(), dim, kMaxDim));
  }
  return std::make_unique<Hdf5Reader>(std::move(matrix));
}

}  // namespace quiver::dataset
