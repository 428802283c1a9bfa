// Writes one array as a .npy file. The number of rows need not be known before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataset/formats/npy_header.h"
#include "dataset/streams/byte_sink.h"

namespace quiver::dataset {

/// One thread. The number of rows is written last. A `.zst` is therefore first written to an
/// uncompressed file beside it.
class NpyWriter {
 public:
  /// `n_columns` is 0 for a one-dimensional array. `path` ends in `.npy` or `.npy.zst`.
  [[nodiscard]] static Result<NpyWriter> create(const std::string& path, ValueType type,
                                                std::uint64_t n_columns, IfExists if_exists);

  [[nodiscard]] ValueType type() const { return type_; }
  /// Appends whole rows of the writer's type.
  Result<> append(std::span<const std::byte> values);
  /// Appends f32 values, converted to f32, f16 or u8. Fails (kInvalidArgument) for values beyond
  /// f16, or values that are no whole number from 0 to 255; the text names the row of this file.
  Result<> append(std::span<const float> values);
  Result<> finish();

 private:
  NpyWriter() = default;
  [[nodiscard]] Error misfit(std::uint64_t value, float found) const;

  std::string path_;
  std::unique_ptr<FileSink> file_;
  std::unique_ptr<ByteSink> packed_;  ///< null unless compressed
  ValueType type_ = ValueType::kF32;
  std::uint64_t n_columns_ = 0;
  std::uint64_t n_values_ = 0;
  std::vector<std::byte> scratch_;
};

}  // namespace quiver::dataset
