// Words that a text query demands or forbids, beside those that it ranks by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "payload/bm25/bm25.h"
#include "payload/bm25/expansion.h"
#include "payload/bm25/occurrences.h"
#include "payload/column/column.h"
#include "payload/text/analyzer.h"

namespace quiver::payload {

/// How many distinct words of the query a text must hold: `count`, or `percent` of them, rounded
/// down. At most all of them. Both 0: any number.
struct MinimumWords {
  std::uint32_t count = 0;
  std::uint32_t percent = 0;  ///< 0 to 100

  [[nodiscard]] std::uint32_t of(std::size_t n_words) const;
  bool operator==(const MinimumWords&) const = default;
};

/// Each of `required` and `excluded` is a text of one or more words. A point holds such a text if
/// one of the query's keys holds all its words.
struct WordRules {
  static constexpr std::size_t kMaxTexts = 100;  ///< of each list

  std::vector<std::string> required;
  std::vector<std::string> excluded;
  MinimumWords minimum = {};

  [[nodiscard]] bool empty() const {
    return required.empty() && excluded.empty() && minimum == MinimumWords{};
  }
  bool operator==(const WordRules&) const = default;
};

/// A text query under the analyzer of one key.
struct KeyQuery {
  /// Numbers in `QueryTokens::stand_ins`.
  using Tokens = std::vector<std::uint32_t>;

  QueryTokens tokens;            ///< what is ranked: the query's text, then what is required
  std::uint32_t minimum = 0;     ///< of the first `n_words` tokens
  std::uint32_t n_words = 0;     ///< distinct tokens of the query's text
  std::vector<Tokens> required;  ///< of each text; empty: it has no tokens
  std::vector<std::vector<std::string>> excluded;  ///< likewise
};

/// What `analyze_query` needs of a request.
struct TextRequest {
  std::string text;
  WordRules rules = {};
  Expansion expansion = {};
};

/// Required words are ranked as if they were in the text, unless they are. `expansion` is applied
/// to both, not to what is excluded. `columns`: all of one key.
[[nodiscard]] KeyQuery analyze_query(const TextRequest& request, Analyzer& analyzer,
                                     std::span<const ColumnView> columns);

/// A key of the query in one segment.
struct RuledTexts {
  const KeyQuery& query;
  const Occurrences& occurrences;  ///< of `query.tokens`
};

/// The rows that satisfy the rules: one key has the minimum, each text of `required` is held by
/// one key, and no key holds a text of `excluded`. Keys without tokens of a text do not hold it; a
/// text without tokens for any key is no rule. `keys`: at least one, all of `n_rows` rows.
[[nodiscard]] Bitset rows_by_rules(std::span<const RuledTexts> keys, std::uint32_t n_rows);

}  // namespace quiver::payload
