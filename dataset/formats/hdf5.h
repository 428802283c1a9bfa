// Data sets within HDF5 files, laid out as ann-benchmarks does: `train`, `test`, `neighbors`,
// `distances`, each `[rows, columns]`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

/// Two-dimensional numbers of any type and byte order; the library converts. One thread (calls into
/// the library take turns).
class Hdf5Matrix {
 public:
  /// kNotFound if there is no such file or no such data set (the text lists those there are);
  /// kInvalidArgument for other files and for what is no matrix of numbers. A compressed file is
  /// unpacked to the directory for temporary files first, because the format is not read front to
  /// back.
  [[nodiscard]] static Result<Hdf5Matrix> open(const std::string& path, const std::string& dataset);

  /// "FILE:DATASET"
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] ValueType type() const;
  [[nodiscard]] std::uint64_t n_rows() const;
  [[nodiscard]] std::uint64_t n_columns() const;

  /// Rows [first, first + n) into `out`, `[n, n_columns]`.
  Result<> read(std::uint64_t first, std::uint64_t n, float* out) const;
  Result<> read(std::uint64_t first, std::uint64_t n, std::int64_t* out) const;

 private:
  struct Handles;
  explicit Hdf5Matrix(std::shared_ptr<const Handles> handles) : handles_(std::move(handles)) {}

  std::shared_ptr<const Handles> handles_;
};

/// Rows of a data set as dense vectors.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_hdf5_vectors(const std::string& path,
                                                                      const std::string& dataset);

}  // namespace quiver::dataset
