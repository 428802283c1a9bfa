// Exact scores of one sparse or multi-vector query against runs and lists of rows.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "index/exact/scan.h"
#include "index/prepared_query.h"
#include "index/stored_rows.h"
#include "index/vector_column.h"
#include "kernels/kernels.h"

namespace quiver::index {

/// Scores rows into `out`. NaN marks a row that is no hit (sparse: no shared index).
template <class S>
concept Scorer = requires(const S& s, std::uint32_t first, std::span<const std::uint32_t> rows,
                          std::span<float> out) {
  s.score_run(first, out);  // rows first, first + 1, …, one for each element of `out`
  s.score_rows(rows, out);  // rows ascend
  s.bytes_per_row();        // mean bytes, for the work counters
  s.cost_per_row();         // as in TileScorer
};

class SparseScorer {
 public:
  SparseScorer(const PreparedQuery& query, const SparseColumn& column);
  void score_run(std::uint32_t first, std::span<float> out) const;
  void score_rows(std::span<const std::uint32_t> rows, std::span<float> out) const;
  [[nodiscard]] std::size_t bytes_per_row() const { return bytes_per_row_; }
  [[nodiscard]] std::size_t cost_per_row() const { return bytes_per_row_; }

 private:
  SparseQuery query_;
  CsrRows rows_;
  const SparseKernels& kernels_;
  std::size_t bytes_per_row_;
};

class MultiScorer {
 public:
  MultiScorer(const PreparedQuery& query, const MultiColumn& column);
  void score_run(std::uint32_t first, std::span<float> out) const;
  void score_rows(std::span<const std::uint32_t> rows, std::span<float> out) const;
  [[nodiscard]] std::size_t bytes_per_row() const { return bytes_per_row_; }
  /// A group of 16 query tokens costs about as much as reading the document as f32.
  [[nodiscard]] std::size_t cost_per_row() const {
    const std::size_t n_tokens = bytes_per_row_ / column_.tokens.stride() + 1;
    return n_tokens * token_cost() * (query_.n_tokens() / 16 + 1);
  }

 private:
  [[nodiscard]] float score(std::uint32_t row) const;
  /// For tokens that are scored in another form than they are stored in.
  [[nodiscard]] float score_converted(const MatrixView& tokens) const;
  [[nodiscard]] std::size_t token_cost() const {
    return is_code(column_.tokens.dtype) ? exact_row_cost(query_.schema())
                                         : sizeof(float) * column_.tokens.dim;
  }

  const PreparedQuery& query_;
  const MultiColumn& column_;
  bool is_converted_;  ///< `is_compared_converted`
  float (*maxsim_)(const float*, std::size_t, std::uint32_t, const std::byte*, std::size_t,
                   std::size_t);
  std::size_t bytes_per_row_;
};

static_assert(Scorer<SparseScorer> && Scorer<MultiScorer>);

/// Adapts a Scorer to a TileScorer of one query.
template <Scorer S>
class OneQuery {
 public:
  explicit OneQuery(S scorer) : scorer_(std::move(scorer)) {}
  [[nodiscard]] std::size_t n_queries() const { return 1; }
  void score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const {
    scorer_.score_run(first, std::span(out).first(n));
  }
  void score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const {
    scorer_.score_rows(rows, std::span(out).first(rows.size()));
  }
  [[nodiscard]] std::size_t bytes_per_row() const { return scorer_.bytes_per_row(); }
  [[nodiscard]] std::size_t cost_per_row() const { return scorer_.cost_per_row(); }

 private:
  S scorer_;
};

}  // namespace quiver::index
