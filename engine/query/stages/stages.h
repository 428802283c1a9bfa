// The table of stages. A new kind of query is a file here, a line below, and an alternative of
// `QueryKind`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/model/query.h"
#include "engine/query/stages/stage.h"

namespace quiver::engine {

// One function for each kind of query. Errors of the query show when the stage runs.

[[nodiscard]] StagePtr make_stage(const NoQuery& kind, PlanNode node);            // list.cc
[[nodiscard]] StagePtr make_stage(const Nearest& kind, PlanNode node);            // nearest.cc
[[nodiscard]] StagePtr make_stage(const Rrf& kind, PlanNode node);                // fusion.cc
[[nodiscard]] StagePtr make_stage(const Dbsf& kind, PlanNode node);               // fusion.cc
[[nodiscard]] StagePtr make_stage(const Linear& kind, PlanNode node);             // fusion.cc
[[nodiscard]] StagePtr make_stage(const OrderBy& kind, PlanNode node);            // order.cc
[[nodiscard]] StagePtr make_stage(const Sample& kind, PlanNode node);             // sample.cc
[[nodiscard]] StagePtr make_stage(const Recommend& kind, PlanNode node);          // examples.cc
[[nodiscard]] StagePtr make_stage(const Discover& kind, PlanNode node);           // examples.cc
[[nodiscard]] StagePtr make_stage(const Context& kind, PlanNode node);            // examples.cc
[[nodiscard]] StagePtr make_stage(const RelevanceFeedback& kind, PlanNode node);  // examples.cc
[[nodiscard]] StagePtr make_stage(const Formula& kind, PlanNode node);            // formula.cc
[[nodiscard]] StagePtr make_stage(const TextMatch& kind, PlanNode node);          // text.cc

/// Appends the points that a query of this kind names in place of vectors: they are no hits.
/// nearest.cc
void add_named_points(const Nearest& kind, std::vector<PointId>& ids);
// examples.cc
void add_named_points(const Recommend& kind, std::vector<PointId>& ids);
void add_named_points(const Discover& kind, std::vector<PointId>& ids);
void add_named_points(const Context& kind, std::vector<PointId>& ids);
void add_named_points(const RelevanceFeedback& kind, std::vector<PointId>& ids);
/// Other kinds name none.
template <class Kind>
void add_named_points(const Kind& kind, std::vector<PointId>& ids) {
  (void)kind, (void)ids;
}

/// How rare the words of a text query are.
[[nodiscard]] Result<CorpusCounts> count_texts(const SearchEnvironment& environment,
                                               const Query& query);  // text.cc

// Stages that these are made of.

/// Scores the union of the inputs' hits exactly against the node's vector: rescore.cc.
[[nodiscard]] StagePtr rescore(const Nearest& kind, PlanNode node);
/// `input` less the hits that miss `query.score_threshold`, if there is one: threshold.cc.
[[nodiscard]] StagePtr with_threshold(const Query& query, StagePtr input);
/// `limit` hits of `input` whose vectors of `field` differ from each other: diversity.cc. Borrows
/// `mmr` and `field`.
[[nodiscard]] StagePtr diversify(const Mmr& mmr, const std::string& field, std::uint64_t limit,
                                 StagePtr input);

}  // namespace quiver::engine
