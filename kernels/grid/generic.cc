// Every level adds sixteen partial sums in the same order, and so has the same bits.
#include <algorithm>
#include <cmath>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kLanes = 16;

float step_of(float scaled, float half) {
  return std::min(std::max(std::floor(scaled), -half), half - 1.0f);
}

float sum_of(float (&sums)[kLanes]) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) sums[j] += sums[j + width];
  }
  return sums[0];
}

float largest(const float* in, std::size_t n) {
  float found = 0;
  for (std::size_t i = 0; i < n; ++i) found = std::max(found, std::abs(in[i]));
  return found;
}

GridSums measure(const float* in, std::size_t n, float scale, float half) {
  float dots[kLanes] = {};
  float squares[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const float scaled = in[i] * scale;
    const float point = step_of(scaled, half) + 0.5f;
    dots[i % kLanes] += scaled * point;
    squares[i % kLanes] += point * point;
  }
  return {sum_of(dots), sum_of(squares)};
}

void encode(const float* in, std::size_t n, float scale, float half, std::uint8_t* codes) {
  for (std::size_t i = 0; i < n; ++i) {
    codes[i] = static_cast<std::uint8_t>(step_of(in[i] * scale, half) + half);
  }
}

}  // namespace

constinit const GridKernels kGridKernels = {largest, measure, encode};

}  // namespace quiver::generic
