// Types of values in files, and their conversion to what the program computes with.
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
/// "f32", "u8", …
[[nodiscard]] std::string_view to_string(ValueType type);

/// Little-endian values at any alignment, converted: `in` holds `out.size()` of them. Beyond the
/// range of f32: infinite. NaN and infinities stay.
void to_f32(ValueType type, const std::byte* in, std::span<float> out);
/// `type` is an integer. u64 beyond the range of i64 comes out negative.
void to_i64(ValueType type, const std::byte* in, std::span<std::int64_t> out);

/// Turns the bytes of each value round, in place.
void swap_bytes(ValueType type, std::span<std::byte> values);

}  // namespace quiver::dataset
