#include "payload/filter/row_set.h"

#include <cstring>

namespace quiver::payload {
namespace {

/// Bit i tells whether byte i of eight is not 0.
std::uint64_t bits_of_eight(const std::uint8_t* flags) {
  constexpr std::uint64_t kLow = 0x7F7F7F7F7F7F7F7F;
  constexpr std::uint64_t kGather = 0x0102040810204080;
  std::uint64_t bytes;
  std::memcpy(&bytes, flags, sizeof bytes);
  const std::uint64_t high_bits = (((bytes & kLow) + kLow) | bytes) & ~kLow;
  return ((high_bits >> 7) * kGather) >> 56;
}

}  // namespace

RowSet RowSet::flagged(const RowSet& within, const std::uint8_t* flags) {
  RowSet set = none_like(within);
  if (within.is_listed() || within.bits_.size() == 0) {
    within.for_each([&](std::size_t row) {
      if (flags[row] != 0) set.set(row);
    });
    return set;
  }
  set.bits_ = Bitset(within.n_rows_);
  const auto words = set.bits_.words();
  const std::size_t n_full = within.n_rows_ / 64;
  for (std::size_t w = 0; w < n_full; ++w) {
    if (within.bits_.words()[w] == 0) continue;
    for (std::size_t eight = 0; eight < 8; ++eight) {
      words[w] |= bits_of_eight(flags + 64 * w + 8 * eight) << (8 * eight);
    }
  }
  for (std::size_t row = 64 * n_full; row < within.n_rows_; ++row) {
    if (flags[row] != 0) set.bits_.set(row);
  }
  set.bits_ &= within.bits_;
  return set;
}

}  // namespace quiver::payload
