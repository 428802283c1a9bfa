#include "encoders/osq/bounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace quiver::encoders::osq {
namespace {

constexpr std::uint32_t kWindowBits = 64;

/// Cost of the coordinate of a row in [low, high].
float cell_cost(Similarity similarity, Bound bound, float query, float low, float high) {
  if (similarity == Similarity::kDot) {
    const float a = -query * low;
    const float b = -query * high;
    return bound == Bound::kLower ? std::min(a, b) : std::max(a, b);
  }
  const float below = query - low;
  const float above = high - query;
  const bool is_inside = below >= 0 && above >= 0;
  if (bound == Bound::kLower && is_inside) return 0;
  const float a = std::abs(below);
  const float b = std::abs(above);
  const float distance = bound == Bound::kLower ? std::min(a, b) : std::max(a, b);
  return distance * distance;
}

std::uint64_t read_big_endian(const std::byte* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

}  // namespace

std::size_t n_limits(std::span<const std::uint8_t> bits) {
  std::size_t n = 0;
  for (const std::uint8_t b : bits) n += (std::size_t{1} << b) + 1;
  return n;
}

BoundTables::BoundTables(const Codebook& codebook, Similarity similarity, Bound bound,
                         std::span<const float> query, std::vector<float>& scratch) {
  scratch.clear();
  const float* limits = codebook.limits.data();
  for (std::size_t d = 0; d < codebook.bits.size(); ++d) {
    const std::size_t n_cells = std::size_t{1} << codebook.bits[d];
    const std::size_t first = scratch.size();
    for (std::size_t cell = 0; cell < n_cells; ++cell) {
      scratch.push_back(cell_cost(similarity, bound, query[d], limits[cell], limits[cell + 1]));
    }
    limits += n_cells + 1;
    const auto entries = std::span(scratch).subspan(first);
    const float least = *std::min_element(entries.begin(), entries.end());
    for (float& entry : entries) entry -= least;
    bias_ += least;
    if (n_cells == 1) {
      scratch.resize(first);  // the same for all rows
    } else {
      add_code(codebook.packing->places()[d], first);
    }
  }
  entries_ = scratch;
}

void BoundTables::add_code(const CodePlace& place, std::size_t first_entry) {
  const auto end_in_window = [&](const Window& window) {
    return (place.segment - window.segment + 2) * kSegmentBits - place.shift;
  };
  if (windows_.empty() || end_in_window(windows_.back()) > kWindowBits) {
    const auto n = static_cast<std::uint32_t>(codes_.size());
    windows_.push_back({place.segment, n, n});
  }
  Window& window = windows_.back();
  const std::uint32_t end = end_in_window(window);
  codes_.push_back({static_cast<std::uint32_t>(first_entry),
                    static_cast<std::uint8_t>(kWindowBits - end), place.mask});
  ++window.end;
}

float BoundTables::bound(const std::byte* segments, float limit) const {
  const float* const entries = entries_.data();
  const Code* const codes = codes_.data();
  float sum = bias_;
  for (const Window& window : windows_) {
    const std::uint64_t bits = read_big_endian(segments + window.segment);
    const auto entry = [&](std::uint32_t i) {
      return entries[codes[i].entries + ((bits >> codes[i].shift) & codes[i].mask)];
    };
    float even = 0;
    float odd = 0;
    std::uint32_t i = window.first;
    for (; i + 1 < window.end; i += 2) {
      even += entry(i);
      odd += entry(i + 1);
    }
    if (i < window.end) even += entry(i);
    sum += even + odd;
    if (sum > limit) return sum;
  }
  return sum;
}

}  // namespace quiver::encoders::osq
