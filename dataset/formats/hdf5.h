// Data sets in HDF5 files, as in ann-benchmarks: `train`, `test`, `neighbors` and `distances`, each
// `[rows, columns]`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

/// A matrix of numbers of any type and byte order, which the library converts. One thread; calls of
/// several objects take turns in the library.
class Hdf5Matrix {
 public:
  /// kNotFound if there is no such file or data set; the text lists the data sets of the file.
  /// kInvalidArgument for files of other formats and for data sets that are not matrices of
  /// numbers. A compressed file is first unpacked to the directory for temporary files, because the
  /// format needs random access.
  [[nodiscard]] static Result<Hdf5Matrix> open(const std::string& path, const std::string& dataset);

  /// "FILE:DATASET"
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] ValueType type() const;
  [[nodiscard]] std::uint64_t n_rows() const;
  [[nodiscard]] std::uint64_t n_columns() const;

  /// Reads rows [first, first + n) into `out`, `[n, n_columns]`.
  Result<> read(std::uint64_t first, std::uint64_t n, float* out) const;
  Result<> read(std::uint64_t first, std::uint64_t n, std::int64_t* out) const;

 private:
  struct Handles;
  explicit Hdf5Matrix(std::shared_ptr<const Handles> handles) : handles_(std::move(handles)) {}

  std::shared_ptr<const Handles> handles_;
};

/// Reads the rows of a data set as dense vectors.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_hdf5_vectors(const std::string& path,
                                                                      const std::string& dataset);

}  // namespace quiver::dataset
