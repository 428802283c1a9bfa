#include "encoders/transforms/rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "encoders/transforms/random_bits.h"
#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

constexpr float kHalfRoot = 0.70710678f;  // sqrt(1/2)

/// Numbers of steps. Tests compare the distribution of coordinates with a normal one. If all steps
/// are transforms, two steps leave sums of few values for vectors with few non-zeros. Otherwise a
/// round is three steps: a transform of the first dimensions, one of the last dimensions, and a
/// butterfly. The two transforms together spread a single value at any position. The butterfly is
/// needed because they may overlap little.
constexpr std::uint32_t kStepsOfPower = 3;
constexpr std::uint32_t kStepsOfOthers = 6;

}  // namespace

Rotation::Rotation(std::uint32_t dim, std::uint64_t seed)
    : dim_(dim),
      seed_(seed),
      padded_dim_(std::max<std::uint32_t>(64, (dim + 31) / 32 * 32)),
      power_(std::bit_floor(padded_dim_)),
      n_steps_(power_ == padded_dim_ ? kStepsOfPower : kStepsOfOthers),
      signs_(std::size_t{n_steps_} * (padded_dim_ / 32)) {
  for (std::size_t i = 0; i < signs_.size(); ++i) {
    signs_[i] = static_cast<std::uint32_t>(random_bits(seed, i) >> 32);
  }
}

Rotation::Step Rotation::step(std::uint32_t number) const {
  const std::uint32_t kind = power_ == padded_dim_ ? 0 : number % 3;
  Step step;
  step.signs = signs_.data() + std::size_t{number} * (padded_dim_ / 32);
  step.is_butterfly = kind == 2;
  step.begin = kind == 1 ? padded_dim_ - power_ : 0;
  step.end = step.is_butterfly ? padded_dim_ : step.begin + power_;
  step.factor = step.is_butterfly ? kHalfRoot : 1.0f / std::sqrt(static_cast<float>(power_));
  return step;
}

void Rotation::flip(const Step& step, float* values) const {
  kernels().transform.flip_signs(values + step.begin, step.end - step.begin,
                                 step.signs + step.begin / 32, step.factor, values + step.begin);
}

void Rotation::mix(const Step& step, float* values) const {
  const TransformKernels& k = kernels().transform;
  const std::uint32_t half = padded_dim_ / 2;
  if (step.is_butterfly) {
    k.butterfly(values, values + half, half, 1.0f);
  } else {
    k.hadamard(values + step.begin, power_);
  }
}

void Rotation::apply(const float* in, float* out) const {
  std::copy_n(in, dim_, out);
  std::fill(out + dim_, out + padded_dim_, 0.0f);
  for (std::uint32_t i = 0; i < n_steps_; ++i) {
    flip(step(i), out);
    mix(step(i), out);
  }
}

void Rotation::apply_inverse(const float* in, float* out) const {
  std::vector<float> values(in, in + padded_dim_);
  for (std::uint32_t i = n_steps_; i-- > 0;) {
    mix(step(i), values.data());
    flip(step(i), values.data());
  }
  std::copy_n(values.begin(), dim_, out);
}

}  // namespace quiver::encoders
