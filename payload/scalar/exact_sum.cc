#include "payload/scalar/exact_sum.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace quiver::payload {
namespace {

constexpr std::uint64_t kLowHalf = 0xFFFFFFFF;
/// A limb grows by less than 2^34 with an addition.
constexpr std::uint32_t kAdditionsPerCarry = 1U << 28;
constexpr int kMantissaBits = 53;

/// `magnitude` at bit `shift` of a number of three halves, 32 bits each; `shift` is below 32.
std::array<std::uint64_t, 3> halves(std::uint64_t magnitude, int shift) {
  const std::uint64_t low = magnitude << shift;
  const std::uint64_t high = shift == 0 ? 0 : magnitude >> (64 - shift);
  return {low & kLowHalf, low >> 32, high};
}

/// `bits * 2^exponent` with the highest bit set, if it is an integer of 64 bits.
std::optional<Number> as_integer(std::uint64_t bits, int exponent, bool is_negative) {
  if (exponent > 0 || exponent <= -64) return std::nullopt;
  const std::uint64_t magnitude = bits >> -exponent;
  if (magnitude << -exponent != bits) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > kMax) return is_negative ? std::nullopt : std::optional<Number>(magnitude);
  const auto value = static_cast<std::int64_t>(magnitude);
  return is_negative ? -value : value;
}

}  // namespace

void ExactSum::add(const Number& number, std::uint32_t times) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) {
    const bool is_negative = *integer < 0;
    const auto bits = static_cast<std::uint64_t>(*integer);
    return add_scaled(is_negative ? ~bits + 1 : bits, 0, is_negative ? -1 : 1, times);
  }
  if (const auto* large = std::get_if<std::uint64_t>(&number)) {
    return add_scaled(*large, 0, 1, times);
  }
  int exponent = 0;
  const double value = std::get<double>(number);
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, kMantissaBits));
  add_scaled(mantissa, exponent - kMantissaBits, std::signbit(value) ? -1 : 1, times);
}

void ExactSum::add_scaled(std::uint64_t magnitude, int exponent, int sign, std::uint32_t times) {
  const int place = exponent + kFractionBits;
  auto limb = static_cast<std::size_t>(place / kLimbBits);
  for (const std::uint64_t half : halves(magnitude, place % kLimbBits)) {
    const std::uint64_t product = half * times;
    limbs_[limb] += sign * static_cast<std::int64_t>(product & kLowHalf);
    limbs_[limb + 1] += sign * static_cast<std::int64_t>(product >> 32);
    ++limb;
  }
  if (++n_additions_ < kAdditionsPerCarry) return;
  carry(limbs_);
  n_additions_ = 0;
}

/// Leaves 0 to 2^32 - 1 in each limb but the last, which has the sign.
void ExactSum::carry(Limbs& limbs) {
  for (std::size_t i = 0; i + 1 < limbs.size(); ++i) {
    const std::int64_t low = limbs[i] & static_cast<std::int64_t>(kLowHalf);
    limbs[i + 1] += (limbs[i] - low) >> kLimbBits;
    limbs[i] = low;
  }
}

Number ExactSum::sum() const {
  Limbs limbs = limbs_;
  carry(limbs);
  const bool is_negative = limbs.back() < 0;
  if (is_negative) {
    for (auto& limb : limbs) limb = -limb;
    carry(limbs);
  }
  std::size_t top = limbs.size();
  while (top > 0 && limbs[top - 1] == 0) --top;
  if (top == 0) return std::int64_t{0};

  // The first 64 bits from the highest one on, and whether a lower bit is set.
  const auto limb_at = [&](std::size_t back) {
    return top > back ? static_cast<std::uint64_t>(limbs[top - 1 - back]) : 0;
  };
  const int n_top_bits = std::bit_width(limb_at(0));
  const int n_missing_bits = kLimbBits - n_top_bits;
  const std::uint64_t bits_above = (limb_at(0) << kLimbBits | limb_at(1)) << n_missing_bits;
  std::uint64_t bits = bits_above | limb_at(2) >> n_top_bits;
  std::uint64_t rest = limb_at(2) & ((std::uint64_t{1} << n_top_bits) - 1);
  for (std::size_t back = 3; back < top; ++back) rest |= limb_at(back);
  const int exponent = (static_cast<int>(top) - 2) * kLimbBits - kFractionBits - n_missing_bits;

  if (rest == 0) {
    if (const auto integer = as_integer(bits, exponent, is_negative)) return *integer;
  }
  // A set lowest bit stands for all that is cut, so rounding to a double is right: 64 bits are
  // enough beyond the 53 of a double. Subnormal sums have no bits to cut.
  if (rest != 0) bits |= 1;
  const double value = std::ldexp(static_cast<double>(bits), exponent);
  return is_negative ? -value : value;
}

}  // namespace quiver::payload
