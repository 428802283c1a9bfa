// Summaries: the largest value of each term over the rows of a block, cut to the largest ones.
// Stored by term, so that a query reads only its terms, for all blocks of a list.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "index/sparse/blocks/block_params.h"
#include "index/sparse/blocks/grouping.h"
#include "index/sparse/rows/coded_rows.h"

namespace quiver::index::sparse {

/// How a list finds the summaries of a term.
enum class TermDirectory : std::uint32_t {
  kRanks = 0,   ///< lines of 448 terms: a rank, and one bit per term
  kSorted = 1,  ///< occurring terms, sorted: u16 if there are fewer than 65,536 terms, else u32
};

/// One line of a directory of ranks. `rank`: number of occurring terms in lower lines.
struct RankLine {
  static constexpr std::uint32_t kTerms = 448;
  std::uint64_t rank = 0;
  std::uint64_t bits[7] = {};
};
static_assert(sizeof(RankLine) == 64);

/// Header of one list. Its blocks are `[first_block, first_block + n_blocks)`. Its summaries start
/// at 64-byte line `line` of all summaries: the directory, padded to 64 bytes; u32 `[n_terms + 1]`
/// offsets of entries; for each occurring term, ascending, block numbers (u16, ascending) and then
/// as many codes (u8).
struct ListHeader {
  std::uint32_t first_block = 0;
  std::uint32_t n_blocks = 0;
  std::uint32_t line = 0;
  std::uint32_t n_lines = 0;
  std::uint32_t n_terms = 0;
  std::uint32_t n_entries = 0;
  std::uint32_t directory = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ListHeader) == 32);

/// A view of the summaries of one list, which must have a valid header. Whatever changes in the
/// summaries themselves, nothing outside of them is read; numbers of blocks may be wrong.
class SummaryView {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::size_t kEntryBytes = 3;

  /// `base`: summaries of all lists. `n_terms`: terms of the index.
  SummaryView(const std::byte* base, const ListHeader& header, std::uint32_t n_terms)
      : directory_(base + std::size_t{header.line} * 64),
        header_(header),
        wide_(n_terms > 0xFFFF),
        offsets_(directory_ + directory_bytes(header, n_terms)),
        runs_(offsets_ + (std::size_t{header.n_terms} + 1) * 4) {}

  [[nodiscard]] static std::size_t directory_bytes(const ListHeader& header, std::uint32_t n_terms);
  /// Lines of all parts of a list.
  [[nodiscard]] static std::size_t n_lines(const ListHeader& header, std::uint32_t n_terms);

  /// Prefetches what `rank` reads first.
  void prefetch_rank(std::uint32_t term) const {
    if (header_.directory == static_cast<std::uint32_t>(TermDirectory::kRanks)) {
      prefetch_line(rank_line(term));
    } else {
      prefetch_middle();
    }
  }
  /// Number of the term among those that occur; kNone if it does not.
  [[nodiscard]] std::uint32_t rank(std::uint32_t term) const {
    if (header_.directory == static_cast<std::uint32_t>(TermDirectory::kRanks)) {
      const std::uint32_t rank = rank_in_lines(term);
      return rank < header_.n_terms ? rank : kNone;
    }
    return wide_ ? rank_in_wide(term) : rank_in_narrow(term);
  }
  void prefetch_run_place(std::uint32_t rank) const { prefetch_line(offsets_ + rank * 4UL); }

  /// The entries of one term: `n` block numbers, then `n` codes.
  struct Run {
    const std::byte* blocks = nullptr;
    std::uint32_t n = 0;

    void prefetch() const { prefetch_bytes(blocks, std::size_t{n} * kEntryBytes); }
    [[nodiscard]] std::uint16_t block(std::uint32_t i) const {
      std::uint16_t number = 0;
      std::memcpy(&number, blocks + std::size_t{i} * 2, 2);
      return number;
    }
    [[nodiscard]] std::uint32_t code(std::uint32_t i) const {
      return static_cast<std::uint32_t>(blocks[std::size_t{n} * 2 + i]);
    }
  };
  /// Without entries if they do not end within the list.
  [[nodiscard]] Run run(std::uint32_t rank) const {
    if (rank >= header_.n_terms) return {runs_, 0};
    const std::uint32_t first = offset(rank);
    const std::uint32_t end = offset(rank + 1);
    if (first > end || end > header_.n_entries) return {runs_, 0};
    return {runs_ + std::size_t{first} * kEntryBytes, end - first};
  }

  /// True if offsets, ranks, term order and block numbers are valid.
  [[nodiscard]] bool valid(std::uint32_t n_terms) const;

 private:
  [[nodiscard]] const RankLine* rank_line(std::uint32_t term) const {
    return reinterpret_cast<const RankLine*>(directory_) + term / RankLine::kTerms;
  }
  [[nodiscard]] std::uint32_t rank_in_lines(std::uint32_t term) const {
    const RankLine& line = *rank_line(term);
    const std::uint32_t at = term % RankLine::kTerms;
    const std::uint64_t word = line.bits[at / 64];
    if (((word >> (at % 64)) & 1) == 0) return kNone;
    std::uint64_t rank = line.rank;
    for (std::uint32_t w = 0; w < at / 64; ++w) {
      rank += static_cast<std::uint64_t>(std::popcount(line.bits[w]));
    }
    const std::uint64_t below = word & ((std::uint64_t{1} << (at % 64)) - 1);
    return static_cast<std::uint32_t>(rank + static_cast<std::uint64_t>(std::popcount(below)));
  }
  [[nodiscard]] std::uint32_t rank_in_wide(std::uint32_t term) const;
  [[nodiscard]] std::uint32_t rank_in_narrow(std::uint32_t term) const;
  void prefetch_middle() const;
  [[nodiscard]] std::uint32_t offset(std::uint32_t rank) const {
    std::uint32_t value = 0;
    std::memcpy(&value, offsets_ + std::size_t{rank} * 4, 4);
    return value;
  }
  [[nodiscard]] bool valid_directory(std::uint32_t n_terms) const;
  template <class Term>
  [[nodiscard]] bool valid_sorted(std::uint32_t n_terms) const;
  [[nodiscard]] bool valid_ranks(std::uint32_t n_terms) const;

  const std::byte* directory_;
  ListHeader header_;
  bool wide_;
  const std::byte* offsets_;
  const std::byte* runs_;
};

/// Builds the summaries of one list after another. Memory: 5 bytes per term; one thread.
class Summarizer {
 public:
  Summarizer(const CodedRows& rows, const BlockParams& params);

  /// Fills the summary fields of `header`, except `line`, and returns whole lines of bytes.
  std::vector<std::byte> summarize(const Grouping& blocks, ListHeader& header);

 private:
  struct Entry {
    std::uint32_t term = 0;
    std::uint16_t block = 0;
    std::uint8_t code = 0;
  };

  void add_block(std::span<const std::uint32_t> rows, std::uint16_t block);
  /// Codes that are kept: those above `code`, and `n_equal` equal to it.
  struct Cut {
    std::uint32_t code = 0;
    std::size_t n_equal = 0;
  };
  [[nodiscard]] Cut cut_by_energy() const;
  [[nodiscard]] Cut cut_by_count() const;
  void sort_by_term();
  void write_directory(const ListHeader& header, std::byte* out) const;
  void write_runs(std::byte* offsets) const;

  const CodedRows& rows_;
  const BlockParams& params_;
  std::vector<std::uint8_t> largest_;     ///< largest code of each term in a block
  std::vector<std::uint32_t> occurring_;  ///< terms of the block
  std::size_t counts_[256] = {};          ///< terms of the block with each code
  std::vector<std::uint32_t> n_of_term_;  ///< entries of each term in the list
  std::vector<std::uint32_t> terms_;      ///< terms of the list, ascending
  std::vector<Entry> entries_;
  std::vector<Entry> sorted_;
};

}  // namespace quiver::index::sparse
