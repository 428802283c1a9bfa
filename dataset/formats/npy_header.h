// The header of NumPy's .npy files, versions 1 to 3 (numpy.lib.format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/streams/byte_source.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

/// Little-endian values in C order.
struct NpyHeader {
  ValueType type = ValueType::kF32;
  std::vector<std::uint64_t> shape;
};

/// Reads the header from the beginning of `source`, which then stands at the first value. Fails
/// (kInvalidArgument) for wrong magic, big-endian or structured values, and Fortran order.
[[nodiscard]] Result<NpyHeader> read_npy_header(ByteSource& source);

/// Text such as "[3, 384]".
[[nodiscard]] std::string shape_text(std::span<const std::uint64_t> shape);

inline constexpr std::size_t kNpyHeaderBytes = 128;
/// Makes a header. It has `kNpyHeaderBytes` for up to two dimensions, so that it can be overwritten
/// when the number of rows is known.
[[nodiscard]] std::string npy_header_text(ValueType type, std::span<const std::uint64_t> shape);

}  // namespace quiver::dataset
