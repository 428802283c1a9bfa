// Search of a graph for the rows nearest to a query.
//
// Best-first search, as in HNSW (Malkov and Yashunin, 2018, algorithm 2), in two steps. The nearest
// unvisited rows are visited: scored by their second codes. Those that are near by that score, too,
// are expanded: all rows linked from one are scored at once by the codes beside its links. The
// search starts among the rows of the nearest posting lists and ends beyond its `Reach`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads/cancel.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/reach.h"
#include "index/dense/lists/search/candidate_search.h"
#include "index/index.h"

namespace quiver::index::dense {

enum class WalkEnd : std::uint8_t {
  kThere,     ///< the best rows were found
  kTooShort,  ///< too few near rows are allowed: a longer walk may find more
  kStuck,     ///< the walk ran out of nodes
};

/// Distinct rows of the column, unordered. Valid until the same thread walks again.
struct WalkHits {
  std::span<const std::uint32_t> rows;
  WalkEnd end = WalkEnd::kThere;
};

struct WalkRequest {
  std::span<const float> vector;      ///< `[dim]`, of unit length under Cosine
  std::size_t k = 0;                  ///< wanted hits
  std::size_t ef = 0;                 ///< largest number of visited nodes, >= 1
  Reach::Shares reach;                ///< infinity: `ef` nodes are visited, and all expanded
  const RowFilter* filter = nullptr;  ///< rows that may be found; nullptr: all
  const Cancel& cancel;
  WorkCounters& work;
};

/// Borrows its arguments; any number of threads.
class Walk {
 public:
  /// `lists` must have second codes.
  Walk(const Graph& graph, const CandidateSearch& lists) : graph_(graph), lists_(lists) {}

  [[nodiscard]] Result<WalkHits> find(const WalkRequest& request) const;

  /// Estimated time of a walk of `n_visits`, in bytes of codes (index/cost.h).
  [[nodiscard]] double find_bytes(double n_visits, const Reach::Shares& reach) const;

 private:
  struct Scratch;
  struct Visit;
  struct Expansion;

  void prepare(const WalkRequest& request, Scratch& scratch) const;
  void begin(const WalkRequest& request, Scratch& scratch) const;
  Result<> visit_all(const WalkRequest& request, Scratch& scratch) const;
  void take_visits(const WalkRequest& request, Scratch& scratch) const;
  void visit_taken(const WalkRequest& request, Scratch& scratch) const;
  void take_expansions(const WalkRequest& request, Scratch& scratch) const;
  void take_expansions_above(float bound, Scratch& scratch) const;
  void expand_taken(Scratch& scratch) const;
  void score_links(std::uint32_t node, float score, Scratch& scratch) const;
  void fetch_links(std::uint32_t node) const;
  [[nodiscard]] WalkEnd end_of(const WalkRequest& request, const Scratch& scratch) const;
  void choose(const WalkRequest& request, Scratch& scratch) const;
  void count(const WalkRequest& request, const Scratch& scratch) const;

  const Graph& graph_;
  const CandidateSearch& lists_;
};

}  // namespace quiver::index::dense
