#include "index/lazy_rows.h"

#include <algorithm>
#include <utility>

#include "base/bits.h"

namespace quiver::index {
namespace {

constexpr std::size_t kBlockWords = LazyRows::kBlockRows / 64;

}  // namespace

LazyRows::LazyRows(std::uint32_t n_rows, std::size_t estimate, Fill fill)
    : n_rows_(n_rows),
      estimate_(estimate),
      fill_(std::move(fill)),
      words_((std::size_t{n_rows} + 63) / 64),
      is_filled_(std::make_unique<std::atomic<bool>[]>(n_rows / kBlockRows + 1)) {}

void LazyRows::ensure(std::uint32_t begin, std::uint32_t end) const {
  end = std::min(end, n_rows_);
  if (begin >= end) return;
  for (std::uint32_t block = begin / kBlockRows; block <= (end - 1) / kBlockRows; ++block) {
    if (!is_filled_[block].load(std::memory_order_acquire)) fill_block(block);
  }
}

void LazyRows::fill_block(std::uint32_t block) const {
  MutexLock lock(mutex_);
  if (is_filled_[block].load(std::memory_order_relaxed)) return;
  const std::size_t first = block * kBlockWords;
  const std::size_t n = std::min(kBlockWords, words_.size() - first);
  fill_(block * kBlockRows, std::span(words_).subspan(first, n));
  is_filled_[block].store(true, std::memory_order_release);
}

std::size_t LazyRows::count() const {
  ensure(0, n_rows_);
  return count_bits(std::span<const std::uint64_t>(words_));
}

}  // namespace quiver::index
