// How a query is answered: a tree of stages that follows the tree of the query.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/environment.h"
#include "engine/query/stages/stage.h"

namespace quiver::engine {

/// Immutable; any number of threads.
class Plan {
 public:
  /// Borrows `query`, which outlives the plan.
  explicit Plan(const Query& query);
  /// The same over `found`: rankings that take the place of searches, which are the nodes without
  /// prefetches, in the order of the tree.
  Plan(const Query& query, std::vector<Ranking> found);

  /// The hits, best first, those of the offset included.
  [[nodiscard]] Result<Ranking> rank(const SearchEnvironment& environment) const;
  /// The answer: `rank` without the offset, with payload and vectors as the query selects them.
  [[nodiscard]] Result<std::vector<Record>> run(const SearchEnvironment& environment) const;

 private:
  const Query& query_;
  const StagePtr root_;
};

/// What each prefetch of `query` finds, in their order.
[[nodiscard]] Result<std::vector<Ranking>> rank_prefetches(const SearchEnvironment& environment,
                                                           const Query& query);

/// Nodes without prefetches, in the order of the tree. Each has the filters of all nodes above it,
/// and the limit of its stage; hits are not chosen by MMR.
[[nodiscard]] std::vector<Query> searches_of(const Query& query);

/// A node of a query that scores by words or by sparse vectors with IDF.
struct CountedNode {
  Query* node = nullptr;  ///< borrowed
  Query question;         ///< the node without prefetches, with the filters of all nodes above it
};
/// Of `query` and its prefetches.
[[nodiscard]] std::vector<CountedNode> counted_nodes(Query& query, const CollectionConfig& config);

/// `query.limit + query.offset`, saturated at the largest value of the type.
[[nodiscard]] std::uint64_t n_ranked(const Query& query);

/// Converts `ranking`, the final ranking of `query`, to the records of the answer.
[[nodiscard]] Result<std::vector<Record>> records_of(const SearchEnvironment& environment,
                                                     const Query& query, const Ranking& ranking);

}  // namespace quiver::engine
