// The probe's sample: rows of a field, queries, and the best rows of each query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/index.h"
#include "index/multi/tokens/token_codes.h"
#include "index/multi/tokens/token_source.h"

namespace quiver::index::multi {

struct ProbeQuery {
  std::uint32_t row = 0;  ///< row of the tokens, if they are a document's
  std::vector<float> tokens;
};

/// Scores of one stage, `[queries, rows]`.
using ScoreTable = std::vector<std::vector<float>>;

class ProbeSample {
 public:
  static constexpr std::size_t kMaxRows = 8192;
  static constexpr std::size_t kMaxQueries = 100;
  /// With fewer documents nothing can be measured.
  static constexpr std::size_t kMinRows = 200;
  /// Tokens of a query taken from a document.
  static constexpr std::size_t kQueryTokens = 16;

  /// Queries: `asked`, `[n_tokens, dim]` each, or, without any, runs of tokens of documents. Such a
  /// document is left out of its own query's answers.
  ProbeSample(const FieldColumn& column, std::span<const std::vector<float>> asked,
              std::uint64_t seed);

  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  [[nodiscard]] std::span<const ProbeQuery> queries() const { return queries_; }
  [[nodiscard]] bool is_conclusive() const { return rows_.size() >= kMinRows; }
  /// Share of all rows that is in the sample.
  [[nodiscard]] double share() const;

  /// Finds the ten best rows of each query by `codes` of the column.
  Result<> find_best(const TokenCodes& codes, const BuildContext& context);

  /// Places of the best rows of all queries in the order of a stage's scores, ascending. A row
  /// comes after all others with an equal score; NaN comes last.
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
