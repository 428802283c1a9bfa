// The scores of texts by Okapi BM25 (Robertson, Zaragoza 2009, "The Probabilistic Relevance
// Framework", section 3.5), with the IDF of Lucene, which is never negative.
//
//   score(row)  = sum over tokens t of  weight(t) * tf / (tf + k * (1 - b + b * length / mean))
//   weight(t)   = share(t) * (k + 1) * ln(1 + (N - n + 0.5) / (n + 0.5))
//
// tf: how often t is in the row. length: tokens of the row. mean: mean length of the N texts of the
// corpus, n of which hold t. share: how often t is in the query, less for tokens that only resemble
// those of the query (expansion.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bitset.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "payload/bm25/occurrences.h"

namespace quiver::payload {

struct Bm25Params {
  double k = 1.2;   ///< >= 0; how slowly repetitions of a word stop counting
  double b = 0.75;  ///< 0 to 1; how much a long text is held against it

  bool operator==(const Bm25Params&) const = default;
};

/// Distinct tokens to look for.
struct QueryTokens {
  std::vector<std::string> texts;
  std::vector<double> shares;  ///< > 0, one for each text
  /// The token of the query from which each text comes: its own number, or that of the token which
  /// it resembles. Texts with one origin count as equally frequent: as the most frequent of them.
  std::vector<std::uint32_t> origins;
  /// For each token of the query, the first ones of `texts`: the numbers of all texts that may
  /// stand for it, itself first. A text may stand for several tokens.
  std::vector<std::vector<std::uint32_t>> stand_ins;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// The number of `text`; kNone if it is not there.
  [[nodiscard]] std::size_t find(std::string_view text) const;
  /// The number of `text`, which becomes a token of the query, with share 1, if it is none. Only
  /// before words that resemble tokens are added.
  std::uint32_t find_or_add(std::string text);

  /// The tokens of a query, in the order of their first appearance.
  [[nodiscard]] static QueryTokens of(const std::vector<std::string>& tokens);
};

/// What the scores depend on beside the row. Sums over the segments of a collection.
struct CorpusStatistics {
  std::uint64_t n_texts = 0;
  std::uint64_t n_tokens = 0;               ///< of all texts
  std::vector<std::uint64_t> n_with_token;  ///< texts with each token of the query

  /// Adds the rows of `within` (nullptr: all rows).
  void add(const Occurrences& occurrences, const Bitset* within);
  /// Gives tokens of one origin the number of the most frequent one.
  void unite(const QueryTokens& tokens);
};

/// The score of a row, given what is in it. The same bits in every segment.
class Bm25 {
 public:
  /// `boost`: factor of all scores, > 0.
  Bm25(const QueryTokens& tokens, const CorpusStatistics& corpus, const Bm25Params& params,
       double boost = 1);

  /// The contribution of a token that is in a row `count` times, >= 1.
  [[nodiscard]] double contribution(std::size_t token, std::uint32_t count,
                                    std::uint32_t length) const {
    const double tf = count;
    return weights_[token] * tf / (tf + at_length_0_ + per_token_ * length);
  }
  /// 0 if the row holds no token.
  [[nodiscard]] double score(const Occurrences& occurrences, std::uint32_t row) const;

  [[nodiscard]] double weight(std::size_t token) const { return weights_[token]; }
  [[nodiscard]] double at_length_0() const { return at_length_0_; }
  [[nodiscard]] double per_token() const { return per_token_; }

 private:
  std::vector<double> weights_;
  double at_length_0_;  ///< k * (1 - b)
  double per_token_;    ///< k * b / mean length
};

/// The texts of one key, and what their tokens are worth.
struct ScoredTexts {
  const Occurrences& occurrences;
  const Bm25& bm25;
};

/// The sum over the keys.
[[nodiscard]] float score_row(std::span<const ScoredTexts> keys, std::uint32_t row);

/// Takes the rows that a search finds.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// `score` > 0. Each row is offered at most once.
  virtual void offer(std::uint32_t row, float score) = 0;
  /// Rows with a lower score need not be offered. Never falls.
  [[nodiscard]] virtual float threshold() const = 0;
  /// Number of rows that are wanted: the best.
  [[nodiscard]] virtual std::size_t limit() const = 0;
};

/// Offers every row of `within` (nullptr: all rows) that holds a token and whose score reaches the
/// threshold. `keys`: at least one, all of the same rows. Exact: bounds leave out what cannot reach
/// it (MaxScore; Turtle, Flood 1995).
[[nodiscard]] Result<> search_texts(std::span<const ScoredTexts> keys, const Bitset* within,
                                    RowSink& sink, const Cancel& cancel);

}  // namespace quiver::payload
