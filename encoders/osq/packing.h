// Segment packing: the codes of a row form one bit string, cut into segments of 8 bits wherever
// they end, so a row wastes at most 7 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quiver::encoders::osq {

/// Bits of a segment (`S` in the paper).
inline constexpr std::uint32_t kSegmentBits = 8;

/// Where the code of one dimension lies. With 8 bits or fewer it touches two segments at most.
struct CodePlace {
  std::uint32_t segment = 0;  ///< the first one
  std::uint8_t shift = 0;  ///< bits after the code in both segments as one number, first one high
  std::uint8_t mask = 0;   ///< 2^bits - 1
};

/// The places of all codes of a row, highest bit first, in the order of dimensions. Dimensions of 0
/// bits take no space.
class Packing {
 public:
  /// `bits`: of each dimension, at most 8.
  explicit Packing(std::span<const std::uint8_t> bits);

  [[nodiscard]] std::size_t n_segments() const { return n_segments_; }
  [[nodiscard]] std::span<const CodePlace> places() const { return places_; }

  /// `codes`: one a dimension, below 2^bits. Writes `[n_segments()]`.
  void pack(std::span<const std::uint8_t> codes, std::byte* segments) const;
  /// The code of dimension `d`. Reads the byte after the last segment if that is its first one.
  [[nodiscard]] std::uint8_t code(const std::byte* segments, std::size_t d) const {
    const CodePlace& place = places_[d];
    const auto high = std::to_integer<std::uint32_t>(segments[place.segment]);
    const auto low = std::to_integer<std::uint32_t>(segments[place.segment + 1]);
    return static_cast<std::uint8_t>(((high << kSegmentBits | low) >> place.shift) & place.mask);
  }
  /// Writes the codes of dimension `d` of `n` rows that are `n_segments()` bytes apart. A byte
  /// after the last row must be readable.
  void unpack_column(const std::byte* rows, std::size_t n, std::size_t d, std::uint8_t* out) const;

 private:
  std::vector<CodePlace> places_;
  std::size_t n_segments_ = 0;
};

}  // namespace quiver::encoders::osq
