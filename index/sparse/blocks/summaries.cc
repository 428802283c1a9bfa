#include "index/sparse/blocks/summaries.h"

#include <algorithm>

#include "base/prefetch.h"

namespace quiver::index::sparse {
namespace {

constexpr std::size_t kLine = 64;

std::size_t padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t rank_lines(std::uint32_t n_terms) {
  return (std::size_t{n_terms} + RankLine::kTerms - 1) / RankLine::kTerms;
}

std::size_t term_bytes(std::uint32_t n_terms) { return n_terms > 0xFFFF ? 4 : 2; }

/// A directory of ranks takes one look-up in place of about ten. It may take this many times the
/// memory of sorted terms.
constexpr std::size_t kRankMemory = 8;

TermDirectory choose_directory(std::size_t n_in_list, std::uint32_t n_terms) {
  const std::size_t ranks = rank_lines(n_terms) * kLine;
  const std::size_t sorted = padded(n_in_list * term_bytes(n_terms));
  return ranks <= sorted * kRankMemory ? TermDirectory::kRanks : TermDirectory::kSorted;
}

template <class Term>
Term term_at(const std::byte* terms, std::size_t i) {
  Term term = 0;
  std::memcpy(&term, terms + i * sizeof(Term), sizeof(Term));
  return term;
}

template <class Term>
std::uint32_t rank_in_sorted(const std::byte* terms, std::size_t n_terms, std::uint32_t term) {
  std::size_t first = 0;
  std::size_t n = n_terms;
  while (n > 0) {
    const std::size_t half = n / 2;
    const bool above = term_at<Term>(terms, first + half) < term;
    first = above ? first + half + 1 : first;
    n = above ? n - half - 1 : half;
  }
  const bool found = first < n_terms && term_at<Term>(terms, first) == term;
  return found ? static_cast<std::uint32_t>(first) : SummaryView::kNone;
}

}  // namespace

std::size_t SummaryView::directory_bytes(const ListHeader& header, std::uint32_t n_terms) {
  if (header.directory == static_cast<std::uint32_t>(TermDirectory::kRanks)) {
    return rank_lines(n_terms) * kLine;
  }
  return padded(header.n_terms * term_bytes(n_terms));
}

std::size_t SummaryView::n_lines(const ListHeader& header, std::uint32_t n_terms) {
  return padded(directory_bytes(header, n_terms) + (std::size_t{header.n_terms} + 1) * 4 +
                std::size_t{header.n_entries} * kEntryBytes) /
         kLine;
}

std::uint32_t SummaryView::rank_in_wide(std::uint32_t term) const {
  return rank_in_sorted<std::uint32_t>(directory_, header_.n_terms, term);
}

std::uint32_t SummaryView::rank_in_narrow(std::uint32_t term) const {
  return rank_in_sorted<std::uint16_t>(directory_, header_.n_terms, term);
}

void SummaryView::prefetch_middle() const {
  prefetch_line(directory_ + std::size_t{header_.n_terms} / 2 * (wide_ ? 4 : 2));
}

bool SummaryView::valid_ranks(std::uint32_t n_terms) const {
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < rank_lines(n_terms); ++i) {
    const RankLine& line = reinterpret_cast<const RankLine*>(directory_)[i];
    if (line.rank != rank) return false;
    for (std::size_t w = 0; w < 7; ++w) {
      const std::uint64_t first = i * RankLine::kTerms + w * 64;
      const std::uint64_t n_here =
          first >= n_terms ? 0 : std::min<std::uint64_t>(64, n_terms - first);
      const bool inside = n_here == 64 || (line.bits[w] >> n_here) == 0;
      if (!inside) return false;
      rank += static_cast<std::uint64_t>(std::popcount(line.bits[w]));
    }
  }
  return rank == header_.n_terms;
}

template <class Term>
bool SummaryView::valid_sorted(std::uint32_t n_terms) const {
  for (std::size_t i = 0; i < header_.n_terms; ++i) {
    const Term term = term_at<Term>(directory_, i);
    if (term >= n_terms || (i > 0 && term_at<Term>(directory_, i - 1) >= term)) return false;
  }
  return true;
}

bool SummaryView::valid_directory(std::uint32_t n_terms) const {
  if (header_.directory == static_cast<std::uint32_t>(TermDirectory::kRanks)) {
    return valid_ranks(n_terms);
  }
  return wide_ ? valid_sorted<std::uint32_t>(n_terms) : valid_sorted<std::uint16_t>(n_terms);
}

bool SummaryView::valid(std::uint32_t n_terms) const {
  if (!valid_directory(n_terms) || offset(0) != 0) return false;
  for (std::uint32_t rank = 0; rank < header_.n_terms; ++rank) {
    if (offset(rank) > offset(rank + 1) || offset(rank + 1) > header_.n_entries) return false;
    const Run found = run(rank);
    for (std::uint32_t i = 0; i < found.n; ++i) {
      if (found.block(i) >= header_.n_blocks) return false;
    }
  }
  return offset(header_.n_terms) == header_.n_entries;
}

Summarizer::Summarizer(const CodedRows& rows, const BlockParams& params)
    : rows_(rows), params_(params), largest_(rows.n_terms(), 0), n_of_term_(rows.n_terms(), 0) {}

Summarizer::Cut Summarizer::cut_by_energy() const {
  std::uint64_t total = 0;
  for (std::size_t code = 1; code < 256; ++code) total += code * counts_[code];
  const double wanted = static_cast<double>(total) * params_.summary_energy;
  double sum = 0;
  for (std::uint32_t code = 255; code > 0; --code) {
    const double sum_here = static_cast<double>(code) * static_cast<double>(counts_[code]);
    if (sum + sum_here >= wanted) {
      const double n = (wanted - sum) / code;
      const auto n_equal = static_cast<std::size_t>(n) +
                           (n > static_cast<double>(static_cast<std::size_t>(n)) ? 1 : 0);
      return {code, std::min(n_equal, counts_[code])};
    }
    sum += sum_here;
  }
  return {0, 0};
}

Summarizer::Cut Summarizer::cut_by_count() const {
  std::size_t left = params_.summary_terms;
  for (std::uint32_t code = 255; code > 0; --code) {
    if (counts_[code] >= left) return {code, left};
    left -= counts_[code];
  }
  return {0, 0};
}

void Summarizer::add_block(std::span<const std::uint32_t> rows, std::uint16_t block) {
  occurring_.clear();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r + 1 < rows.size()) rows_.prefetch(rows[r + 1]);
    const auto row = rows_.row(rows[r]);
    for (std::size_t i = 0; i < row.terms.size(); ++i) {
      std::uint8_t& largest = largest_[row.terms[i]];
      if (largest == 0 && row.codes[i] != 0) occurring_.push_back(row.terms[i]);
      largest = std::max(largest, row.codes[i]);
    }
  }
  std::fill(std::begin(counts_), std::end(counts_), 0);
  for (const std::uint32_t term : occurring_) ++counts_[largest_[term]];
  Cut cut = params_.summary_terms != 0 ? cut_by_count() : cut_by_energy();
  for (const std::uint32_t term : occurring_) {
    const std::uint8_t code = largest_[term];
    largest_[term] = 0;
    if (code < cut.code || (code == cut.code && cut.n_equal == 0)) continue;
    if (code == cut.code) --cut.n_equal;
    entries_.push_back({term, block, code});
    ++n_of_term_[term];
  }
}

/// Counting sort by term; stable, so blocks ascend within a term.
void Summarizer::sort_by_term() {
  terms_.clear();
  for (const Entry& entry : entries_) {
    if (n_of_term_[entry.term] != 0 && largest_[entry.term] == 0) {
      largest_[entry.term] = 1;  // marks the term as seen
      terms_.push_back(entry.term);
    }
  }
  std::sort(terms_.begin(), terms_.end());
  std::uint32_t first = 0;
  for (const std::uint32_t term : terms_) {
    const std::uint32_t n = n_of_term_[term];
    n_of_term_[term] = first;
    first += n;
  }
  sorted_.resize(entries_.size());
  for (const Entry& entry : entries_) sorted_[n_of_term_[entry.term]++] = entry;
}

void Summarizer::write_directory(const ListHeader& header, std::byte* out) const {
  const std::uint32_t n_terms = rows_.n_terms();
  if (header.directory == static_cast<std::uint32_t>(TermDirectory::kSorted)) {
    const std::size_t width = term_bytes(n_terms);  // little-endian
    for (const std::uint32_t term : terms_) {
      std::memcpy(out, &term, width);
      out += width;
    }
    return;
  }
  auto* lines = reinterpret_cast<RankLine*>(out);
  for (const std::uint32_t term : terms_) {
    const std::uint32_t at = term % RankLine::kTerms;
    lines[term / RankLine::kTerms].bits[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < rank_lines(n_terms); ++i) {
    lines[i].rank = rank;
    for (const std::uint64_t word : lines[i].bits) {
      rank += static_cast<std::uint64_t>(std::popcount(word));
    }
  }
}

void Summarizer::write_runs(std::byte* offsets) const {
  std::byte* run = offsets + (terms_.size() + 1) * 4;
  std::uint32_t first = 0;
  std::memcpy(offsets, &first, 4);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const std::uint32_t end = n_of_term_[terms_[t]];
    const std::uint32_t n = end - first;
    for (std::uint32_t i = 0; i < n; ++i) {
      const Entry& entry = sorted_[first + i];
      std::memcpy(run + std::size_t{i} * 2, &entry.block, 2);
      run[std::size_t{n} * 2 + i] = static_cast<std::byte>(entry.code);
    }
    run += std::size_t{n} * SummaryView::kEntryBytes;
    std::memcpy(offsets + (t + 1) * 4, &end, 4);
    first = end;
  }
}

std::vector<std::byte> Summarizer::summarize(const Grouping& blocks, ListHeader& header) {
  entries_.clear();
  for (std::size_t b = 0; b < blocks.n_blocks(); ++b) {
    add_block(blocks.block(b), static_cast<std::uint16_t>(b));
  }
  sort_by_term();
  header.n_terms = static_cast<std::uint32_t>(terms_.size());
  header.n_entries = static_cast<std::uint32_t>(entries_.size());
  const std::uint32_t n_terms = rows_.n_terms();
  header.directory = static_cast<std::uint32_t>(choose_directory(terms_.size(), n_terms));
  header.n_lines = static_cast<std::uint32_t>(SummaryView::n_lines(header, n_terms));
  std::vector<std::byte> bytes(header.n_lines * kLine);
  write_directory(header, bytes.data());
  write_runs(bytes.data() + SummaryView::directory_bytes(header, n_terms));
  for (const std::uint32_t term : terms_) n_of_term_[term] = largest_[term] = 0;
  return bytes;
}

}  // namespace quiver::index::sparse
