// Eight-bit floats: what float8 fields store.
#pragma once

#include <bit>
#include <cstdint>

namespace quiver {

/// Eight-bit floats of OCP's "8-bit floating point specification" (2023): sign, exponent, mantissa,
/// with subnormals.
struct E4m3 {
  static constexpr int kMantissaBits = 3;
  static constexpr int kBias = 7;
  static constexpr float kLargest = 448.0f;
  static constexpr std::uint8_t kLargestBits = 0x7e;
  static constexpr std::uint8_t kNan = 0x7f;  ///< there are no infinities
};

struct E5m2 {
  static constexpr int kMantissaBits = 2;
  static constexpr int kBias = 15;
  static constexpr float kLargest = 57344.0f;
  static constexpr std::uint8_t kLargestBits = 0x7b;
  static constexpr std::uint8_t kNan = 0x7f;
};

/// Rounds to nearest even. Values that round beyond `kLargest`, and infinities, become `kLargest`
/// with their sign. NaN becomes `kNan` with its sign.
template <class Format>
[[nodiscard]] inline std::uint8_t to_float8(float value) {
  constexpr int kShift = 23 - Format::kMantissaBits;
  constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(128 - Format::kBias) << 23;
  // A float whose last place is that of the format's subnormals: adding it rounds to them.
  constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(128 - Format::kBias + kShift) << 23;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>(bits >> 24 & 0x80u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t code;
  if (magnitude < kSmallestNormal) {
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
    code = std::bit_cast<std::uint32_t>(sum) - kMagic;
  } else {
    const std::uint32_t rebased = magnitude - kSmallestNormal + (1u << 23);
    code = (rebased + (1u << (kShift - 1)) - 1 + (rebased >> kShift & 1u)) >> kShift;
    code = code < Format::kLargestBits ? code : Format::kLargestBits;
  }
  if (magnitude > 0x7f800000u) code = Format::kNan;
  return static_cast<std::uint8_t>(sign | code);
}

/// Exact.
template <class Format>
[[nodiscard]] inline float from_float8(std::uint8_t code) {
  constexpr int kShift = 23 - Format::kMantissaBits;
  const std::uint32_t sign = (code & 0x80u) << 24;
  const std::uint32_t magnitude = code & 0x7fu;
  if (magnitude > Format::kLargestBits) {
    const bool is_infinite = Format::kLargestBits == 0x7b && magnitude == 0x7c;
    return std::bit_cast<float>(sign | (is_infinite ? 0x7f800000u : 0x7fc00000u));
  }
  if (magnitude >> Format::kMantissaBits == 0) {
    constexpr std::uint32_t kUnit =
        static_cast<std::uint32_t>(128 - Format::kBias - Format::kMantissaBits) << 23;
    const float value = static_cast<float>(magnitude) * std::bit_cast<float>(kUnit);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  const std::uint32_t exponent_shift = static_cast<std::uint32_t>(127 - Format::kBias) << 23;
  return std::bit_cast<float>(sign | ((magnitude << kShift) + exponent_shift));
}

}  // namespace quiver
