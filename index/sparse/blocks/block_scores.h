// Estimates of all blocks of a query's lists, from their summaries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/sparse/blocks/best_first.h"
#include "index/sparse/blocks/blocks.h"

namespace quiver::index::sparse {

/// Scratch memory of one thread, kept from query to query.
class BlockScorer {
 public:
  /// Scores the blocks of the `query_cut` lists of the largest weights. A sum times `unit()` is
  /// about the largest score that a row of the block may have, less what its summary and
  /// `estimate_mass` leave out; weights below zero count as zero.
  Result<> score(const Blocks& blocks, std::span<const QueryTerm> terms,
                 const BlockSearchParams& params, const Cancel& cancel, WorkCounters& work);

  [[nodiscard]] std::span<ScoredBlock> blocks() { return scored_; }
  [[nodiscard]] float unit() const { return unit_; }

 private:
  void choose_terms(std::span<const QueryTerm> terms);
  void set_weights(float scale, float mass);
  Result<> score_lists(const Blocks& blocks, std::size_t n_lists, const Cancel& cancel,
                       WorkCounters& work);
  /// `place`: of the list among those whose runs were found.
  void score_list(const Blocks& blocks, std::uint32_t term, std::size_t place, WorkCounters& work);
  void find_runs(const Blocks& blocks, std::span<const QueryTerm> lists);
  std::size_t add_runs(const SummaryView& summaries, std::size_t place);
  void collect(const ListHeader& header);

  std::vector<QueryTerm> chosen_;       ///< of positive weight, largest first
  std::vector<std::uint32_t> weights_;  ///< of the first of `chosen_`, as integers
  std::vector<std::uint32_t> ranks_;    ///< `[lists at once, n_weights]`
  std::vector<std::uint32_t> sums_;     ///< by block of one list
  std::vector<ScoredBlock> scored_;
  float unit_ = 1;
};

}  // namespace quiver::index::sparse
