// Estimates of all blocks of a query's lists, from their summaries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/sparse/blocks/best_first.h"
#include "index/sparse/blocks/blocks.h"

namespace quiver::index::sparse {

/// Memory of one thread, reused between queries.
class BlockScorer {
 public:
  /// Scores the blocks of the `query_cut` lists with the largest weights. sum * `unit()` is about
  /// the largest score of a row of the block, less what the summary and `estimate_mass` leave out.
  /// Negative weights count as 0.
  Result<> score(const Blocks& blocks, std::span<const QueryTerm> terms,
                 const BlockSearchParams& params, const Cancel& cancel, WorkCounters& work);

  [[nodiscard]] std::span<ScoredBlock> blocks() { return scored_; }
  [[nodiscard]] float unit() const { return unit_; }

 private:
  void choose_terms(std::span<const QueryTerm> terms);
  void set_weights(float scale, float mass);
  Result<> score_lists(const Blocks& blocks, std::size_t n_lists, const Cancel& cancel,
                       WorkCounters& work);
  /// `place`: number of the list in `find_runs`.
  void score_list(const Blocks& blocks, std::uint32_t term, std::size_t place, WorkCounters& work);
  void find_runs(const Blocks& blocks, std::span<const QueryTerm> lists);
  std::size_t add_runs(const SummaryView& summaries, std::size_t place);
  void collect(const ListHeader& header);

  std::vector<QueryTerm> chosen_;       ///< terms of positive weight, largest first
  std::vector<std::uint32_t> weights_;  ///< integer weights of the first of `chosen_`
  std::vector<std::uint32_t> ranks_;    ///< `[lists at once, n_weights]`
  std::vector<std::uint32_t> sums_;     ///< sum of each block of a list
  std::vector<ScoredBlock> scored_;
  float unit_ = 1;
};

}  // namespace quiver::index::sparse
