#include "payload/column/growing_postings.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace quiver::payload {
namespace {

/// Small blocks are ready soon; as one large block they are asked faster.
constexpr std::uint32_t kSmall = GrowingPostings::kRowsPerBlock;
constexpr std::uint32_t kLarge = 16 * kSmall;

/// Sorts by the upper half, and keeps the order of equal ones.
void sort_by_term(std::vector<std::uint64_t>& tokens, std::uint32_t n_terms) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  std::vector<std::uint64_t> sorted(tokens.size());
  std::vector<std::size_t> starts(kDigits);
  for (unsigned shift = 32; shift == 32 || std::uint64_t{n_terms} << 32 >> shift != 0;
       shift += kBits) {
    const auto digit = [shift](std::uint64_t token) { return token >> shift & (kDigits - 1); };
    std::fill(starts.begin(), starts.end(), 0);
    for (const std::uint64_t token : tokens) ++starts[digit(token)];
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::size_t{0});
    for (const std::uint64_t token : tokens) sorted[starts[digit(token)]++] = token;
    tokens.swap(sorted);
  }
}

/// Every token as (term, row), sorted.
std::vector<std::uint64_t> sorted_tokens(const ColumnView& column, std::uint32_t first_row,
                                         std::uint32_t n_rows) {
  std::vector<std::uint64_t> tokens;
  for (std::uint32_t row = first_row; row < first_row + n_rows; ++row) {
    for (const std::uint32_t term : column.row_terms(row)) {
      if (term != ColumnView::kGap) tokens.push_back(std::uint64_t{term} << 32 | row);
    }
  }
  sort_by_term(tokens, column.n_terms());
  return tokens;
}

}  // namespace

PostingsBlock::PostingsBlock(const ColumnView& column, std::uint32_t first_row,
                             std::uint32_t n_rows)
    : first_row_(first_row), n_rows_(n_rows) {
  const auto tokens = sorted_tokens(column, first_row, n_rows);
  for (std::size_t i = 0; i < tokens.size();) {
    std::size_t end = i + 1;
    while (end < tokens.size() && tokens[end] == tokens[i]) ++end;
    const auto term = static_cast<std::uint32_t>(tokens[i] >> 32);
    if (terms_.empty() || terms_.back() != term) {
      terms_.push_back(term);
      offsets_.push_back(static_cast<std::uint32_t>(rows_.size()));
    }
    rows_.push_back(static_cast<std::uint32_t>(tokens[i]));
    counts_.push_back(
        static_cast<std::uint8_t>(std::min<std::size_t>(end - i, ColumnView::kManyTimes)));
    i = end;
  }
  offsets_.push_back(static_cast<std::uint32_t>(rows_.size()));
}

PostingsBlock::List PostingsBlock::list(std::uint32_t term) const {
  const auto found = std::lower_bound(terms_.begin(), terms_.end(), term);
  if (found == terms_.end() || *found != term) return {};
  const auto i = static_cast<std::size_t>(found - terms_.begin());
  const std::size_t n = offsets_[i + 1] - offsets_[i];
  return {std::span(rows_).subspan(offsets_[i], n), std::span(counts_).subspan(offsets_[i], n)};
}

std::size_t PostingsBlock::memory_bytes() const {
  return sizeof(*this) + counts_.capacity() +
         sizeof(std::uint32_t) * (terms_.capacity() + offsets_.capacity() + rows_.capacity());
}

std::size_t GrowingPostings::memory_bytes() const {
  MutexLock lock(mutex_);
  std::size_t n = 0;
  for (const auto& block : blocks_) n += block->memory_bytes();
  return n;
}

GrowingPostings::Blocks GrowingPostings::blocks(const ColumnView& column) {
  MutexLock lock(mutex_);
  std::uint32_t end = blocks_.empty() ? 0 : blocks_.back()->end_row();
  for (; end + kSmall <= column.n_rows; end += kSmall) {
    blocks_.push_back(std::make_shared<const PostingsBlock>(column, end, kSmall));
    const std::uint32_t large_first = end + kSmall - kLarge;
    if ((end + kSmall) % kLarge != 0) continue;
    std::erase_if(blocks_, [&](const auto& block) { return block->first_row() >= large_first; });
    blocks_.push_back(std::make_shared<const PostingsBlock>(column, large_first, kLarge));
  }
  // An older view has fewer rows than the blocks. It scans what its last block would hold.
  Blocks known;
  for (const auto& block : blocks_) {
    if (block->end_row() <= column.n_rows) known.push_back(block);
  }
  return known;
}

}  // namespace quiver::payload
