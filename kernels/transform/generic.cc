// Every output of a stage is one sum or difference, and stages run from near to far. Therefore the
// vector levels, which keep several stages in registers, have the same bits.
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

void hadamard(float* values, std::size_t n) {
  for (std::size_t stride = 1; stride < n; stride *= 2) {
    for (std::size_t i = 0; i < n; ++i) {
      if ((i & stride) != 0) continue;
      const float a = values[i];
      const float b = values[i + stride];
      values[i] = a + b;
      values[i + stride] = a - b;
    }
  }
}

void flip_signs(const float* in, std::size_t n, const std::uint32_t* signs, float factor,
                float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = in[i] * ((signs[i / 32] >> (i % 32) & 1) != 0 ? -factor : factor);
  }
}

void butterfly(float* first, float* second, std::size_t n, float factor) {
  for (std::size_t i = 0; i < n; ++i) {
    const float a = first[i];
    const float b = second[i];
    first[i] = (a + b) * factor;
    second[i] = (a - b) * factor;
  }
}

}  // namespace

constinit const TransformKernels kTransformKernels = {hadamard, flip_signs, butterfly};

}  // namespace quiver::generic
