#include "payload/bm25/word_rules.h"

#include <algorithm>
#include <utility>

namespace quiver::payload {
namespace {

/// The rows that hold the token or a word that stands for it.
Bitset rows_with(const RuledTexts& key, std::uint32_t token, std::uint32_t n_rows) {
  Bitset rows(n_rows);
  for (const std::uint32_t text : key.query.tokens.stand_ins[token]) {
    for (const std::uint32_t row : key.occurrences.token(text).rows) rows.set(row);
  }
  return rows;
}

/// `query.minimum` is at least 1.
Bitset rows_with_minimum(const RuledTexts& key, std::uint32_t n_rows) {
  std::vector<std::uint32_t> n_held(n_rows, 0);
  for (std::uint32_t token = 0; token < key.query.n_words; ++token) {
    rows_with(key, token, n_rows).for_each([&](std::size_t row) { ++n_held[row]; });
  }
  Bitset rows(n_rows);
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    if (n_held[row] >= key.query.minimum) rows.set(row);
  }
  return rows;
}

void keep_minimum(std::span<const RuledTexts> keys, Bitset& rows) {
  const auto n_rows = static_cast<std::uint32_t>(rows.size());
  Bitset held(n_rows);
  bool is_rule = false;
  for (const auto& key : keys) {
    if (key.query.n_words == 0) continue;
    if (key.query.minimum == 0) return;
    is_rule = true;
    held |= rows_with_minimum(key, n_rows);
  }
  if (is_rule) rows &= held;
}

Bitset rows_with_all(const RuledTexts& key, const KeyQuery::Tokens& tokens, std::uint32_t n_rows) {
  Bitset rows(n_rows, true);
  for (const std::uint32_t token : tokens) rows &= rows_with(key, token, n_rows);
  return rows;
}

Bitset rows_with_all(const RuledTexts& key, const std::vector<std::string>& tokens,
                     std::uint32_t n_rows) {
  const Occurrences occurrences(key.occurrences.column(), tokens);
  Bitset rows(n_rows, true);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Bitset held(n_rows);
    for (const std::uint32_t row : occurrences.token(i).rows) held.set(row);
    rows &= held;
  }
  return rows;
}

/// The rows of which some key holds text `i` of `texts`, a list of KeyQuery. Returns false if the
/// text has no tokens for any key.
template <class Texts>
bool find_holders(std::span<const RuledTexts> keys, Texts KeyQuery::*texts, std::size_t i,
                  Bitset& holders) {
  bool has_tokens = false;
  for (const auto& key : keys) {
    const auto& tokens = (key.query.*texts)[i];
    if (tokens.empty()) continue;
    has_tokens = true;
    holders |= rows_with_all(key, tokens, static_cast<std::uint32_t>(holders.size()));
  }
  return has_tokens;
}

std::vector<std::string> distinct(std::vector<std::string> tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

}  // namespace

std::uint32_t MinimumWords::of(std::size_t n_words) const {
  const std::uint64_t share = std::uint64_t{n_words} * percent / 100;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(n_words, std::max<std::uint64_t>(count, share)));
}

KeyQuery analyze_query(const TextRequest& request, Analyzer& analyzer,
                       std::span<const ColumnView> columns) {
  KeyQuery query;
  auto words = analyzer.tokens(request.text, TokenUse::kQuery);
  query.tokens = QueryTokens::of(words);
  query.n_words = static_cast<std::uint32_t>(query.tokens.texts.size());
  query.minimum = request.rules.minimum.of(query.n_words);
  std::size_t last = QueryTokens::kNone;
  if (!words.empty()) last = query.tokens.find(words.back());
  for (const auto& text : request.rules.required) {
    auto& numbers = query.required.emplace_back();
    for (auto& token : distinct(analyzer.tokens(text, TokenUse::kQuery))) {
      numbers.push_back(query.tokens.find_or_add(std::move(token)));
    }
  }
  for (const auto& text : request.rules.excluded) {
    query.excluded.push_back(distinct(analyzer.tokens(text, TokenUse::kQuery)));
  }
  if (!request.expansion.is_none()) expand(request.expansion, columns, last, query.tokens);
  return query;
}

Bitset rows_by_rules(std::span<const RuledTexts> keys, std::uint32_t n_rows) {
  Bitset rows(n_rows, true);
  keep_minimum(keys, rows);
  for (std::size_t i = 0; i < keys.front().query.required.size(); ++i) {
    Bitset holders(n_rows);
    if (find_holders(keys, &KeyQuery::required, i, holders)) rows &= holders;
  }
  for (std::size_t i = 0; i < keys.front().query.excluded.size(); ++i) {
    Bitset holders(n_rows);
    if (find_holders(keys, &KeyQuery::excluded, i, holders)) rows.subtract(holders);
  }
  return rows;
}

}  // namespace quiver::payload
