// Every level adds sixteen partial sums of squares in the same order, and so has the same bits.
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kLanes = 16;

bool is_positive(const std::uint8_t* plane, std::uint32_t n_steps, const std::int8_t* token) {
  std::int32_t product = 0;
  for (std::uint32_t step = 0; step < n_steps; ++step) {
    for (std::size_t j = 0; j < 4; ++j) {
      product += (std::int32_t{plane[step * 64 + j]} - 128) * token[step * 4 + j];
    }
  }
  return product > 0;
}

void sign_words(const SignPlanes& planes, const std::int8_t* tokens, const std::int32_t*,
                std::size_t n, std::uint16_t* words) {
  const std::size_t token_bytes = std::size_t{planes.n_steps} * 4;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t w = 0; w < planes.n_words; ++w) {
      std::uint32_t word = 0;
      for (std::size_t p = 0; p < 16; ++p) {
        const std::uint8_t* plane = planes.planes + w * token_bytes * 16 + p * 4;
        const bool set = is_positive(plane, planes.n_steps, tokens + i * token_bytes);
        word |= std::uint32_t{set} << p;
      }
      words[i * planes.n_words + w] = static_cast<std::uint16_t>(word);
    }
  }
}

float sum_of(float (&sums)[kLanes]) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) sums[j] += sums[j + width];
  }
  return sums[0];
}

void add(const float* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] += in[i];
}

void pool(const float* tokens, std::size_t n_lines, const std::uint32_t* ids,
          const TokenRange* ranges, std::size_t n_ranges, float* sums, float* squares) {
  const std::size_t width = n_lines * kLanes;
  for (std::size_t r = 0; r < n_ranges; ++r, sums += width) {
    const std::uint32_t* id = ids + ranges[r].first;
    for (std::size_t i = 0; i < width; ++i) sums[i] = tokens[id[0] * width + i];
    for (std::uint32_t t = 1; t < ranges[r].n; ++t) add(tokens + id[t] * width, width, sums);
    float partial[kLanes] = {};
    for (std::size_t i = 0; i < width; ++i) partial[i % kLanes] += sums[i] * sums[i];
    squares[r] = sum_of(partial);
  }
}

void sketch(const LineSketch& sketch, const float* in, const SketchRows& rows) {
  for (std::size_t row = 0; row < rows.n; ++row) {
    for (std::size_t line = 0; line < sketch.n_lines; ++line, in += kLanes) {
      float* to = rows.out + (rows.places[row] * sketch.n_slots + sketch.slots[line]) * kLanes;
      for (std::size_t j = 0; j < kLanes; ++j) {
        const float value = in[sketch.lanes[line * kLanes + j]];
        to[j] += ((sketch.signs[line] >> j & 1) != 0 ? -value : value) * rows.factors[row];
      }
    }
  }
}

}  // namespace

constinit const SetKernels kSetKernels = {sign_words, pool, sketch};

}  // namespace quiver::generic
