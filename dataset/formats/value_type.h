// Types of values in files, and their conversion to f32 and i64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dataset/vectors.h"

namespace quiver::dataset {

enum class ByteOrder : std::uint8_t { kLittle, kBig };

[[nodiscard]] std::size_t bytes_per_value(ValueType type);
[[nodiscard]] bool is_integer(ValueType type);
/// Names such as "f32" and "u8".
[[nodiscard]] std::string_view to_string(ValueType type);

/// Converts `out.size()` little-endian values at any alignment. Values beyond f32 become infinite;
/// NaN and infinities stay.
void to_f32(ValueType type, const std::byte* in, std::span<float> out);
/// Like `to_f32`, for integer types. u64 beyond the range of i64 becomes negative.
void to_i64(ValueType type, const std::byte* in, std::span<std::int64_t> out);

/// Reverses the bytes of each value, in place.
void swap_bytes(ValueType type, std::span<std::byte> values);

}  // namespace quiver::dataset
