#include "encoders/transforms/square_rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "encoders/transforms/random_bits.h"
#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

constexpr float kRootOfHalf = 0.70710678f;

/// As in Rotation: three transforms of all dimensions, or two rounds of three steps.
constexpr std::uint32_t kStepsIfPower = 3;
constexpr std::uint32_t kStepsIfOther = 6;

/// The kernel takes 64 values and more. The order of sums is the same.
void transform(float* values, std::uint32_t n) {
  if (n >= 64) return kernels().transform.hadamard(values, n);
  for (std::uint32_t stride = 1; stride < n; stride *= 2) {
    for (std::uint32_t i = 0; i < n; ++i) {
      if ((i & stride) != 0) continue;
      const float a = values[i];
      const float b = values[i + stride];
      values[i] = a + b;
      values[i + stride] = a - b;
    }
  }
}

}  // namespace

SquareRotation::SquareRotation(std::uint32_t dim, std::uint64_t seed)
    : dim_(dim),
      power_(std::bit_floor(dim)),
      n_steps_(power_ == dim ? kStepsIfPower : kStepsIfOther),
      words_((dim + 31) / 32 + 1),  // the second half of a butterfly begins with a word of its own
      signs_(std::size_t{n_steps_} * words_) {
  for (std::size_t i = 0; i < signs_.size(); ++i) {
    signs_[i] = static_cast<std::uint32_t>(random_bits(seed, i) >> 32);
  }
}

SquareRotation::Kind SquareRotation::kind(std::uint32_t step) const {
  return power_ == dim_ ? Kind::kFirst : static_cast<Kind>(step % 3);
}

void SquareRotation::flip(std::uint32_t step, float* values) const {
  const auto& kernel = kernels().transform;
  const std::uint32_t* signs = signs_.data() + std::size_t{step} * words_;
  if (kind(step) == Kind::kHalves) {
    const std::uint32_t half = dim_ / 2;
    float* second = values + dim_ - half;  // the middle of an odd dimension stays
    kernel.flip_signs(values, half, signs, kRootOfHalf, values);
    kernel.flip_signs(second, half, signs + (half + 31) / 32, kRootOfHalf, second);
    return;
  }
  float* first = values + (kind(step) == Kind::kLast ? dim_ - power_ : 0);
  kernel.flip_signs(first, power_, signs, 1.0f / std::sqrt(static_cast<float>(power_)), first);
}

void SquareRotation::mix(std::uint32_t step, float* values) const {
  if (kind(step) == Kind::kHalves) {
    const std::uint32_t half = dim_ / 2;
    kernels().transform.butterfly(values, values + dim_ - half, half, 1.0f);
  } else {
    transform(values + (kind(step) == Kind::kLast ? dim_ - power_ : 0), power_);
  }
}

void SquareRotation::apply(const float* in, float* out) const {
  if (in != out) std::copy_n(in, dim_, out);
  for (std::uint32_t step = 0; step < n_steps_; ++step) {
    flip(step, out);
    mix(step, out);
  }
}

void SquareRotation::apply_inverse(const float* in, float* out) const {
  if (in != out) std::copy_n(in, dim_, out);
  for (std::uint32_t step = n_steps_; step-- > 0;) {
    mix(step, out);
    flip(step, out);
  }
}

}  // namespace quiver::encoders
