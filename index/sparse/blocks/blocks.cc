#include "index/sparse/blocks/blocks.h"

#include <cmath>

#include "index/sparse/blocks/grouping.h"
#include "index/sparse/rows/sections.h"

namespace quiver::index::sparse {
namespace {

struct BlockFacts {
  float scale = 1;
  std::uint32_t n_neighbours = 0;
  std::uint64_t reserved = 0;
};

bool all_below(std::span<const std::uint32_t> numbers, std::uint32_t limit) {
  std::uint32_t wrong = 0;
  for (const std::uint32_t number : numbers) wrong |= number >= limit ? 1U : 0U;
  return wrong == 0;
}

bool are_offsets(std::span<const std::uint32_t> offsets, std::size_t total) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != total) return false;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) return false;
  }
  return true;
}

}  // namespace

void Blocks::write(SectionWriter& out) const {
  const BlockFacts facts{scale_, n_neighbours_, 0};
  out.section(kBlockFacts, std::span(&facts, 1));
  out.section(kBlockLists, lists_.span());
  out.section(kBlockSummaries, summaries_.span());
  out.section(kBlockFirstRows, first_row_.span());
  out.section(kBlockRows, rows_.span());
  out.section(kBlockNeighbours, neighbours_.span());
  heads_.write(out);
}

Result<Blocks> Blocks::open(const SectionReader& in, std::uint32_t n_rows, std::uint32_t n_terms) {
  QV_TRY(const auto facts, in.get<BlockFacts>(kBlockFacts, 0, 1));
  Blocks blocks;
  blocks.n_rows_ = n_rows;
  blocks.scale_ = facts[0].scale;
  blocks.n_neighbours_ = facts[0].n_neighbours;
  if (!(blocks.scale_ > 0) || !std::isfinite(blocks.scale_))
    return in.damaged("scale of summaries");
  QV_TRY(blocks.lists_, in.get<ListHeader>(kBlockLists, 0, n_terms));
  QV_TRY(blocks.summaries_, in.get<std::byte>(kBlockSummaries));
  QV_TRY(blocks.first_row_, in.get<std::uint32_t>(kBlockFirstRows));
  QV_TRY(blocks.rows_, in.get<std::uint32_t>(kBlockRows));
  const std::uint64_t n_neighbours = std::uint64_t{n_rows} * blocks.n_neighbours_;
  QV_TRY(blocks.neighbours_, in.get<std::uint32_t>(kBlockNeighbours, 0, n_neighbours));
  if (!are_offsets(blocks.first_row_.span(), blocks.rows_.size())) {
    return in.damaged("offsets of blocks");
  }
  if (!all_below(blocks.rows_.span(), n_rows)) return in.damaged("rows of blocks");
  if (!all_below(blocks.neighbours_.span(), n_rows)) return in.damaged("neighbours of rows");
  QV_TRY(blocks.heads_, TopComponents::open(in, n_rows, n_terms));
  QV_TRY(blocks.check_lists(in));
  return blocks;
}

Result<> Blocks::check_lists(const SectionReader& in) const {
  std::uint64_t n_blocks = 0;
  for (std::uint32_t term = 0; term < n_terms(); ++term) {
    const ListHeader& header = lists_[term];
    if (header.first_block != n_blocks) return in.damaged("blocks of a list");
    n_blocks += header.n_blocks;
    if (header.n_blocks == 0) continue;
    if (!is_valid(header)) return in.damaged("a list");
    if (!summaries(header).valid(n_terms())) return in.damaged("summaries of a list");
  }
  if (n_blocks + 1 != first_row_.size()) return in.damaged("number of blocks");
  return {};
}

bool Blocks::is_valid(const ListHeader& header) const {
  const bool is_known = header.directory <= static_cast<std::uint32_t>(TermDirectory::kSorted);
  return is_known && header.n_blocks <= kMaxBlocks &&
         std::uint64_t{header.first_block} + header.n_blocks < first_row_.size() &&
         header.n_lines == SummaryView::n_lines(header, n_terms()) &&
         std::uint64_t{header.line} + header.n_lines <= summaries_.size() / 64;
}

std::uint64_t Blocks::bytes() const {
  return lists_.span().size_bytes() + summaries_.size() + first_row_.span().size_bytes() +
         rows_.span().size_bytes() + heads_.bytes() + neighbours_.span().size_bytes();
}

}  // namespace quiver::index::sparse
