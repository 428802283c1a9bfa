// Matrices from NumPy's .npy files (versions 1 to 3; f32, f16 or u8, two-dimensional, C order).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

/// `[n_rows, dim]`, held in memory as stored. Immutable; any number of threads.
class NpyMatrix {
 public:
  /// kNotFound if the file cannot be read, kInvalidArgument if it holds something else.
  [[nodiscard]] static Result<NpyMatrix> open(const std::string& path);
  /// `bytes` as of a file; `name` is for messages.
  [[nodiscard]] static Result<NpyMatrix> parse(std::string bytes, const std::string& name);

  [[nodiscard]] std::size_t n_rows() const { return n_rows_; }
  [[nodiscard]] std::size_t dim() const { return dim_; }
  /// Row `i` as f32 into `out`, `[dim]`.
  void row(std::size_t i, std::span<float> out) const;

 private:
  std::string bytes_;
  std::size_t data_offset_ = 0;
  std::size_t n_rows_ = 0;
  std::size_t dim_ = 0;
  DType dtype_ = DType::kF32;
};

}  // namespace quiver::app
