#include "payload/bm25/occurrences.h"

#include <algorithm>

#include "base/views.h"
#include "payload/column/growing_postings.h"

namespace quiver::payload {
namespace {

/// Rows with more tokens are looked up in the postings.
constexpr std::size_t kFewTokens = 512;

TokenRows sealed_rows(const ColumnView& column, std::string_view token) {
  TokenRows found;
  found.term = column.find_term(token);
  if (found.term == ColumnView::kNoTerm) return found;
  const std::uint64_t first = column.posting_offsets[found.term];
  found.rows = column.postings(found.term);
  found.first_posting = std::min<std::uint64_t>(first, column.posting_rows.size());
  found.counts = part_of(column.posting_counts.span(), first, first + found.rows.size());
  found.rows = found.rows.first(std::min(found.rows.size(), found.counts.size()));
  return found;
}

std::uint32_t count_in(std::span<const std::uint32_t> terms, std::uint32_t term) {
  std::uint32_t n = 0;
  for (const std::uint32_t other : terms) n += other == term ? 1 : 0;
  return n;
}

}  // namespace

Occurrences::Occurrences(const ColumnView& column, std::span<const std::string> tokens)
    : column_(column) {
  for (const auto& token : tokens) {
    tokens_.push_back(column.sealed ? sealed_rows(column_, token)
                                    : TokenRows{.term = column_.find_term(token)});
    const std::uint32_t term = tokens_.back().term;
    if (term != ColumnView::kNoTerm) last_bits_ |= std::uint64_t{1} << term % 64;
  }
  if (!column.sealed) collect();
}

void Occurrences::collect() {
  collected_.resize(tokens_.size());
  const auto blocks = column_.growing_postings->blocks(column_);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].term == ColumnView::kNoTerm) continue;
    for (const auto& block : blocks) {
      const auto [rows, counts] = block->list(tokens_[i].term);
      collected_[i].rows.insert(collected_[i].rows.end(), rows.begin(), rows.end());
      collected_[i].counts.insert(collected_[i].counts.end(), counts.begin(), counts.end());
    }
  }
  collect_tail(blocks.empty() ? 0 : blocks.back()->end_row());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    tokens_[i].rows = collected_[i].rows;
    tokens_[i].counts = collected_[i].counts;
  }
}

void Occurrences::collect_tail(std::uint32_t first_row) {
  std::vector<std::uint32_t> counts(tokens_.size());
  for (std::uint32_t row = first_row; row < column_.n_rows; ++row) {
    count_by_scan(column_.row_terms(row), counts);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      collected_[i].rows.push_back(row);
      collected_[i].counts.push_back(
          static_cast<std::uint8_t>(std::min<std::uint32_t>(counts[i], ColumnView::kManyTimes)));
    }
  }
}

void Occurrences::count(std::uint32_t row, std::span<std::uint32_t> counts) const {
  const auto terms = column_.row_terms(row);
  if (terms.size() <= kFewTokens) return count_by_scan(terms, counts);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = count_by_postings(i, row, terms);
}

void Occurrences::count_by_scan(std::span<const std::uint32_t> terms,
                                std::span<std::uint32_t> counts) const {
  std::fill(counts.begin(), counts.end(), 0U);
  for (const std::uint32_t term : terms) {
    if ((last_bits_ >> term % 64 & 1) == 0) continue;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += tokens_[i].term == term ? 1 : 0;
  }
}

std::uint32_t Occurrences::count_by_postings(std::size_t i, std::uint32_t row,
                                             std::span<const std::uint32_t> terms) const {
  const TokenRows& token = tokens_[i];
  const auto found = std::lower_bound(token.rows.begin(), token.rows.end(), row);
  if (found == token.rows.end() || *found != row) return 0;
  const std::uint8_t count = token.counts[static_cast<std::size_t>(found - token.rows.begin())];
  return count < ColumnView::kManyTimes ? count : count_in(terms, token.term);
}

std::uint64_t Occurrences::n_rows(std::size_t i, const Bitset* within) const {
  const auto rows = tokens_[i].rows;
  if (within == nullptr) return rows.size();
  std::uint64_t n = 0;
  for (const std::uint32_t row : rows) n += row < within->size() && within->test(row) ? 1 : 0;
  return n;
}

}  // namespace quiver::payload
