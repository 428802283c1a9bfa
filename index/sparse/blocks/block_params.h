// Parameters of Seismic's blocks: how they are built, and how they are searched.
#pragma once

#include <cstdint>
#include <string>

#include "base/params.h"
#include "base/result.h"

namespace quiver::index::sparse {

/// Greek letters are those of Bruch, Nardini, Rulli and Venturini, "Efficient inverted indexes for
/// approximate retrieval over learned sparse representations" (SIGIR 2024).
struct BlockParams {
  /// Mean number of postings kept per list (λ). More: better recall, more memory. 0: rows / 2000,
  /// at least 300.
  std::uint32_t n_postings = 0;
  /// A list keeps at most max_fraction * n_postings. Only with pruning `global`.
  float max_fraction = 6;
  /// Which postings are kept. `global`: the largest values of the collection. `fixed`: the
  /// `n_postings` largest of each list. `coi`: the share `coi_fraction` of each list, at most
  /// `n_postings`.
  std::string pruning = "global";
  float coi_fraction = 0.15F;
  /// Largest components of each row whose postings are always kept, so that every row can be found.
  std::uint32_t n_covered = 3;

  /// How lists are cut into blocks. `kmeans`: rows near the same centroid. `fixed`: `block_size`
  /// rows of falling values.
  std::string blocking = "kmeans";
  std::uint32_t block_size = 10;
  /// Largest number of rows of a `kmeans` block.
  std::uint32_t max_block_size = 32;
  /// Number of centroids of a list as a share of its rows (β / λ). More: smaller blocks, better
  /// summaries, more memory.
  float centroid_fraction = 0.4F;
  /// Clusters of at most this many rows are dissolved.
  std::uint32_t min_cluster_size = 1;
  /// Largest components of a row that choose its centroid.
  std::uint32_t doc_cut = 15;

  /// Share of a summary's sum that is kept (α), largest components first. More: better estimates,
  /// more memory.
  float summary_energy = 0.6F;
  /// Number of components that a summary keeps, in place of `summary_energy`. 0: unused.
  std::uint32_t summary_terms = 0;

  /// Top components kept per row (its head), rounded up to a multiple of 32. A record is read only
  /// if they score well. 0: none.
  std::uint32_t head_terms = 64;

  /// Nearest neighbours kept per row (κ), to refine results. Building takes one search per row. 0:
  /// none.
  std::uint32_t n_neighbours = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("n_postings", &BlockParams::n_postings, {.min = 0, .max = 10'000'000}));
    v(field("max_fraction", &BlockParams::max_fraction, {.min = 1, .max = 1000}));
    v(field("pruning", &BlockParams::pruning));
    v(field("coi_fraction", &BlockParams::coi_fraction, {.min = 0, .max = 1}));
    v(field("n_covered", &BlockParams::n_covered, {.min = 0, .max = 64}));
    v(field("blocking", &BlockParams::blocking));
    v(field("block_size", &BlockParams::block_size, {.min = 1, .max = 65'535}));
    v(field("max_block_size", &BlockParams::max_block_size, {.min = 1, .max = 65'535}));
    v(field("centroid_fraction", &BlockParams::centroid_fraction, {.min = 0, .max = 1}));
    v(field("min_cluster_size", &BlockParams::min_cluster_size, {.min = 0, .max = 65'535}));
    v(field("doc_cut", &BlockParams::doc_cut, {.min = 1, .max = 65'535}));
    v(field("summary_energy", &BlockParams::summary_energy, {.min = 0, .max = 1}));
    v(field("summary_terms", &BlockParams::summary_terms, {.min = 0, .max = 1'000'000}));
    v(field("head_terms", &BlockParams::head_terms, {.min = 0, .max = 1024}));
    v(field("n_neighbours", &BlockParams::n_neighbours, {.min = 0, .max = 64}));
  }
};

/// kInvalidArgument for a value out of range or an unknown `pruning` or `blocking`.
[[nodiscard]] Result<> check(const BlockParams& params);

/// λ for a collection of `n_rows`.
[[nodiscard]] std::uint32_t default_postings(std::uint32_t n_rows);

struct BlockSearchParams {
  /// Number of lists that are walked, those of the query's largest weights. Higher: better recall,
  /// slower.
  std::uint32_t query_cut = 10;
  /// A block is read if its estimate reaches heap_factor * worst wanted score. Lower: better
  /// recall, slower.
  float heap_factor = 0.9F;
  /// Share of the query's weight used in estimates, largest weights first. Lower: faster, lower
  /// estimates.
  float estimate_mass = 0.9F;
  /// A row's record is read if its top components reach head_factor * worst wanted score. Lower:
  /// better recall, slower. 0: always.
  float head_factor = 0.7F;
  /// Neighbours of each result that are scored at the end, at most `n_neighbours`. Higher: better
  /// recall, slower.
  std::uint32_t n_knn = 0;
  /// Largest number of rows scored. 0: no limit.
  std::uint32_t budget = 0;
  /// The search ends after this many consecutive rows that were not among the best. 0: never.
  std::uint32_t patience = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("query_cut", &BlockSearchParams::query_cut, {.min = 1, .max = 1'000'000}));
    v(field("heap_factor", &BlockSearchParams::heap_factor, {.min = 0, .max = 2}));
    v(field("estimate_mass", &BlockSearchParams::estimate_mass, {.min = 0, .max = 1}));
    v(field("head_factor", &BlockSearchParams::head_factor, {.min = 0, .max = 2}));
    v(field("n_knn", &BlockSearchParams::n_knn, {.min = 0, .max = 64}));
    v(field("budget", &BlockSearchParams::budget));
    v(field("patience", &BlockSearchParams::patience));
  }
};

}  // namespace quiver::index::sparse
