#include "payload/bm25/bm25.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quiver::payload {

std::size_t QueryTokens::find(std::string_view text) const {
  const auto found = std::find(texts.begin(), texts.end(), text);
  return found == texts.end() ? kNone : static_cast<std::size_t>(found - texts.begin());
}

std::uint32_t QueryTokens::find_or_add(std::string text) {
  const std::size_t found = find(text);
  if (found != kNone) return static_cast<std::uint32_t>(found);
  const auto number = static_cast<std::uint32_t>(texts.size());
  texts.push_back(std::move(text));
  shares.push_back(1);
  origins.push_back(number);
  stand_ins.push_back({number});
  return number;
}

QueryTokens QueryTokens::of(const std::vector<std::string>& tokens) {
  QueryTokens query;
  for (const auto& token : tokens) {
    const std::size_t n_before = query.texts.size();
    const std::uint32_t number = query.find_or_add(token);
    if (number < n_before) ++query.shares[number];
  }
  return query;
}

void CorpusStatistics::add(const Occurrences& occurrences, const Bitset* within) {
  const ColumnView& column = occurrences.column();
  if (within == nullptr) {
    n_texts += column.n_texts;
    n_tokens += column.n_tokens;
  } else {
    within->for_each([&](std::size_t row) {
      const std::uint32_t length = column.text_lengths[row];
      n_texts += length == 0 ? 0 : 1;
      n_tokens += length;
    });
  }
  n_with_token.resize(occurrences.n_tokens(), 0);
  for (std::size_t i = 0; i < n_with_token.size(); ++i) {
    n_with_token[i] += occurrences.n_rows(i, within);
  }
}

void CorpusStatistics::unite(const QueryTokens& tokens) {
  std::vector<std::uint64_t> most(tokens.texts.size(), 0);
  for (std::size_t i = 0; i < n_with_token.size(); ++i) {
    auto& n = most[tokens.origins[i]];
    n = std::max(n, n_with_token[i]);
  }
  for (std::size_t i = 0; i < n_with_token.size(); ++i) n_with_token[i] = most[tokens.origins[i]];
}

Bm25::Bm25(const QueryTokens& tokens, const CorpusStatistics& corpus, const Bm25Params& params,
           double boost) {
  const auto n_texts = static_cast<double>(corpus.n_texts);
  const double mean = std::max(1.0, static_cast<double>(corpus.n_tokens)) / std::max(1.0, n_texts);
  at_length_0_ = params.k * (1 - params.b);
  per_token_ = params.k * params.b / mean;
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    const auto n = static_cast<double>(corpus.n_with_token[i]);
    const double idf = std::log1p((n_texts - n + 0.5) / (n + 0.5));
    weights_.push_back(boost * tokens.shares[i] * (params.k + 1) * idf);
  }
}

double Bm25::score(const Occurrences& occurrences, std::uint32_t row) const {
  std::vector<std::uint32_t> counts(weights_.size());
  occurrences.count(row, counts);
  const std::uint32_t length = occurrences.column().text_lengths[row];
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) sum += contribution(i, counts[i], length);
  }
  return sum;
}

float score_row(std::span<const ScoredTexts> keys, std::uint32_t row) {
  double sum = 0;
  for (const auto& [occurrences, bm25] : keys) sum += bm25.score(occurrences, row);
  return static_cast<float>(sum);
}

}  // namespace quiver::payload
