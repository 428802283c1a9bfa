// A plan is a tree of stages: each makes a ranking, from the snapshot or from other stages'
// rankings.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/environment.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// Immutable; any number of threads.
class PlanStage {
 public:
  virtual ~PlanStage() = default;
  [[nodiscard]] virtual Result<Ranking> run(const SearchEnvironment& environment) const = 0;
};
using StagePtr = std::unique_ptr<const PlanStage>;

using FilterPtr = std::shared_ptr<const payload::Filter>;
using PredicatePtr = std::shared_ptr<const payload::Predicate>;

/// A node of the query tree, with what is needed to make its stage.
struct PlanNode {
  const Query& query;            ///< borrowed; outlives the stage
  FilterPtr filter;              ///< filter of this node and all above it; nullptr: none
  std::uint64_t limit = 0;       ///< hits wanted
  std::vector<StagePtr> inputs;  ///< one for each prefetch; none: the stage reads the snapshot
};

/// A stage whose ranking is known already.
[[nodiscard]] StagePtr known_ranking(Ranking ranking);
/// The rankings of the node's inputs, in order.
[[nodiscard]] Result<std::vector<Ranking>> run_inputs(const PlanNode& node,
                                                      const SearchEnvironment& environment);
/// The node's filter, ready for evaluation; nullptr if it has none.
[[nodiscard]] Result<PredicatePtr> compile_filter(const PlanNode& node,
                                                  const SearchEnvironment& environment);

}  // namespace quiver::engine
