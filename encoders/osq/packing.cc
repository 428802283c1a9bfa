#include "encoders/osq/packing.h"

#include <algorithm>

namespace quiver::encoders::osq {

Packing::Packing(std::span<const std::uint8_t> bits) {
  std::uint32_t at = 0;
  for (const std::uint8_t n : bits) {
    const std::uint32_t end = at % kSegmentBits + n;
    places_.push_back({at / kSegmentBits, static_cast<std::uint8_t>(2 * kSegmentBits - end),
                       static_cast<std::uint8_t>((1U << n) - 1)});
    at += n;
  }
  n_segments_ = (at + kSegmentBits - 1) / kSegmentBits;
}

void Packing::pack(std::span<const std::uint8_t> codes, std::byte* segments) const {
  std::fill_n(segments, n_segments_, std::byte{0});
  for (std::size_t d = 0; d < codes.size(); ++d) {
    if (places_[d].mask == 0) continue;
    const std::uint32_t both = std::uint32_t{codes[d]} << places_[d].shift;
    std::byte* const first = segments + places_[d].segment;
    first[0] |= static_cast<std::byte>(both >> kSegmentBits);
    if (both % 256 != 0) first[1] |= static_cast<std::byte>(both % 256);
  }
}

void Packing::unpack_column(const std::byte* rows, std::size_t n, std::size_t d,
                            std::uint8_t* out) const {
  for (std::size_t i = 0; i < n; ++i) out[i] = code(rows + i * n_segments_, d);
}

}  // namespace quiver::encoders::osq
