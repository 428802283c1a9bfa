// What first stages are tried on: rows of a field, queries for them, and which rows are the best.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/index.h"
#include "index/multi/tokens/token_codes.h"
#include "index/multi/tokens/token_source.h"

namespace quiver::index::multi {

struct ProbeQuery {
  std::uint32_t row = 0;  ///< whose tokens they are, if they are a document's
  std::vector<float> tokens;
};

/// Scores `[queries, rows]` of one stage.
using ScoreTable = std::vector<std::vector<float>>;

class ProbeSample {
 public:
  static constexpr std::size_t kMaxRows = 8192;
  static constexpr std::size_t kMaxQueries = 100;
  /// Where fewer documents are sampled, nothing can be told.
  static constexpr std::size_t kMinRows = 200;
  /// Tokens of a query that is taken from a document.
  static constexpr std::size_t kQueryTokens = 16;

  /// The queries are those that were `asked`, `[n_tokens, dim]` each, or, if there are none, runs
  /// of tokens of documents, which are left out of their own answers.
  ProbeSample(const FieldColumn& column, std::span<const std::vector<float>> asked,
              std::uint64_t seed);

  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  [[nodiscard]] std::span<const ProbeQuery> queries() const { return queries_; }
  [[nodiscard]] bool is_telling() const { return rows_.size() >= kMinRows; }
  /// How many of the rows there are are in the sample.
  [[nodiscard]] double share() const;

  /// Looks for the best ten of each query by `codes`, those of the column.
  Result<> find_best(const TokenCodes& codes, const BuildContext& context);

  /// The place of each of the best rows of every query in the order of a stage's scores, ascending.
  /// Behind all others that score no less, and last without a number for a score.
  [[nodiscard]] std::vector<std::uint32_t> places(const ScoreTable& scores) const;

 private:
  void draw_rows(std::vector<std::uint32_t> present, std::uint64_t seed);
  void add_query(const TokenSource& tokens, std::uint32_t row, std::uint64_t seed);
  [[nodiscard]] std::vector<std::uint32_t> best_of(const std::vector<float>& scores,
                                                   std::uint32_t own) const;

  std::size_t n_present_ = 0;
  std::vector<std::uint32_t> rows_;
  std::vector<ProbeQuery> queries_;
  std::vector<std::vector<std::uint32_t>> best_;
};

}  // namespace quiver::index::multi
