#include "dataset/formats/value_type.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/half.h"
#include "kernels/kernels.h"

namespace quiver::dataset {
namespace {

struct StoredHalf {
  std::uint16_t bits;
  explicit operator float() const { return half_to_float(bits); }
  explicit operator std::int64_t() const { return static_cast<std::int64_t>(float{*this}); }
};

/// Calls `function` with a zero of the C++ type for `type`.
template <class Function>
auto with_type(ValueType type, Function function) {
  switch (type) {
    case ValueType::kF64:
      return function(double{});
    case ValueType::kF16:
      return function(StoredHalf{});
    case ValueType::kU8:
      return function(std::uint8_t{});
    case ValueType::kI8:
      return function(std::int8_t{});
    case ValueType::kI32:
      return function(std::int32_t{});
    case ValueType::kI64:
      return function(std::int64_t{});
    case ValueType::kU16:
      return function(std::uint16_t{});
    case ValueType::kI16:
      return function(std::int16_t{});
    case ValueType::kU32:
      return function(std::uint32_t{});
    case ValueType::kU64:
      return function(std::uint64_t{});
    case ValueType::kF32:
      break;
  }
  return function(float{});
}

template <class Out>
void convert(ValueType type, const std::byte* in, std::span<Out> out) {
  with_type(type, [&](auto zero) {
    auto value = zero;
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::memcpy(&value, in + i * sizeof(value), sizeof(value));
      out[i] = static_cast<Out>(value);
    }
  });
}

}  // namespace

std::size_t bytes_per_value(ValueType type) {
  return with_type(type, [](auto zero) { return sizeof(zero); });
}

bool is_integer(ValueType type) {
  return with_type(type, [](auto zero) { return std::is_integral_v<decltype(zero)>; });
}

std::string_view to_string(ValueType type) {
  constexpr std::string_view kNames[] = {"f32", "f64", "f16", "u8",  "i8", "i32",
                                         "i64", "u16", "i16", "u32", "u64"};
  return kNames[static_cast<std::size_t>(type)];
}

void to_f32(ValueType type, const std::byte* in, std::span<float> out) {
  if (out.empty()) return;
  if (type == ValueType::kF32) {
    std::memcpy(out.data(), in, out.size_bytes());
  } else if (type == ValueType::kU8) {
    kernels().convert.u8_to_f32(reinterpret_cast<const std::uint8_t*>(in), out.size(), out.data());
  } else if (type == ValueType::kF16 && reinterpret_cast<std::uintptr_t>(in) % 2 == 0) {
    kernels().convert.f16_to_f32(reinterpret_cast<const std::uint16_t*>(in), out.size(),
                                 out.data());
  } else {
    convert(type, in, out);
  }
}

void to_i64(ValueType type, const std::byte* in, std::span<std::int64_t> out) {
  convert(type, in, out);
}

void swap_bytes(ValueType type, std::span<std::byte> values) {
  const std::size_t n_bytes = bytes_per_value(type);
  for (std::size_t i = 0; i + n_bytes <= values.size(); i += n_bytes) {
    std::reverse(values.begin() + static_cast<std::ptrdiff_t>(i),
                 values.begin() + static_cast<std::ptrdiff_t>(i + n_bytes));
  }
}

}  // namespace quiver::dataset
