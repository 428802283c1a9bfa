#include "encoders/fde/buckets.h"

#include <algorithm>
#include <utility>

namespace quiver::encoders::fde {
namespace {

/// Distance of one bit between codes; the low bits hold the token.
constexpr std::uint64_t kOneBit = std::uint64_t{1} << 32;
/// A distance beyond any token.
constexpr std::uint64_t kNowhere = std::uint64_t{1} << 40;

}  // namespace

void Buckets::assign(std::span<const std::uint16_t> codes, std::size_t n_buckets) {
  n_tokens_ = codes.size();
  ids_.resize(n_tokens_ + n_buckets);
  ranges_.assign(n_buckets, TokenRange{});
  for (std::uint16_t code : codes) ++ranges_[code].n;
  std::uint32_t first = 0;
  for (TokenRange& range : ranges_) {
    range.first = first;
    first += std::exchange(range.n, 0u);
  }
  for (std::uint32_t i = 0; i < n_tokens_; ++i) {
    TokenRange& range = ranges_[codes[i]];
    ids_[range.first + range.n++] = i;
  }
}

/// The distance is a sum over bits, so it is minimised bit by bit: for each bit, a bucket's nearest
/// token is its own or that of the bucket across this bit.
void Buckets::find_nearest() {
  const std::size_t n = ranges_.size();
  nearest_.resize(n);
  for (std::size_t b = 0; b < n; ++b) {
    nearest_[b] = ranges_[b].n > 0 ? ids_[ranges_[b].first] : kNowhere;
  }
  for (std::size_t bit = 1; bit < n; bit *= 2) {
    for (std::size_t first = 0; first < n; first += 2 * bit) {
      for (std::size_t b = first; b < first + bit; ++b) {
        const std::uint64_t without = nearest_[b];
        const std::uint64_t with = nearest_[b + bit];
        nearest_[b] = std::min(without, with + kOneBit);
        nearest_[b + bit] = std::min(with, without + kOneBit);
      }
    }
  }
}

void Buckets::fill() {
  const auto is_empty = [](const TokenRange& range) { return range.n == 0; };
  if (n_tokens_ == 0 || std::none_of(ranges_.begin(), ranges_.end(), is_empty)) return;
  find_nearest();
  for (std::size_t b = 0; b < ranges_.size(); ++b) {
    // No branch, because it could not be predicted.
    ids_[n_tokens_ + b] = static_cast<std::uint32_t>(nearest_[b] % kOneBit);
    const auto place = static_cast<std::uint32_t>(n_tokens_ + b);
    const TokenRange range = ranges_[b];
    ranges_[b] = {range.n == 0 ? place : range.first, range.n == 0 ? 1 : range.n};
  }
}

}  // namespace quiver::encoders::fde
