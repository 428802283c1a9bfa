#include "encoders/fde/sketch.h"

#include <algorithm>

namespace quiver::encoders::fde {

BalancedSketch::BalancedSketch(std::size_t n_lines, std::uint32_t out_dim, CounterRandom random)
    : out_dim_(out_dim),
      n_slots_((out_dim + 15) / 16),
      slots_(n_lines),
      lanes_(n_lines * 16),
      signs_(n_lines) {
  std::vector<std::uint32_t> order(n_slots_);
  for (std::size_t line = 0; line < n_lines; ++line) {
    if (line % n_slots_ == 0) random.permutation(std::span(order));
    slots_[line] = order[line % n_slots_];
    draw_line(line, random);
  }
}

/// With fewer than 16 outputs, each part of the line is permuted within itself, and `add_rows` adds
/// the parts.
void BalancedSketch::draw_line(std::size_t line, CounterRandom& random) {
  const std::size_t part = std::min<std::size_t>(out_dim_, 16);
  for (std::size_t first = 0; first < 16; first += part) {
    const std::span<std::uint8_t> lanes(lanes_.data() + line * 16 + first, part);
    random.permutation(lanes);
    for (std::uint8_t& lane : lanes) lane = static_cast<std::uint8_t>(lane + first);
  }
  signs_[line] = static_cast<std::uint16_t>(random.bits() >> 48);
}

LineSketch BalancedSketch::lines(std::size_t first, std::size_t n) const {
  return {slots_.data() + first, lanes_.data() + first * 16, signs_.data() + first, n, n_slots_};
}

void BalancedSketch::add_lines(const float* in, std::size_t first, std::size_t n,
                               float* out) const {
  const std::uint32_t place = 0;
  const float factor = 1;
  kernels().sets.sketch(lines(first, n), in, {&place, &factor, 1, out});
}

void BalancedSketch::add_rows(const float* in, const SketchRows& rows) const {
  const LineSketch all = lines(0, slots_.size());
  if (out_dim_ % 16 == 0) return kernels().sets.sketch(all, in, rows);
  for (std::size_t i = 0; i < rows.n; ++i) {
    float line[16] = {};
    const std::uint32_t place = 0;
    kernels().sets.sketch(all, in + i * all.n_lines * 16, {&place, rows.factors + i, 1, line});
    float* out = rows.out + rows.places[i] * std::size_t{out_dim_};
    for (std::size_t j = 0; j < 16; ++j) out[j % out_dim_] += line[j];
  }
}

}  // namespace quiver::encoders::fde
