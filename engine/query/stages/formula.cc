// Points that prefetches found, scored by a formula.
//
// The points of all prefetches are scored together, after the shards' hits have been merged. So a
// score does not depend on the shards, and a point that one prefetch did not find has that
// prefetch's default score.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/query/formula/evaluator.h"
#include "engine/query/stages/stages.h"
#include "engine/segment/segment_rows.h"

namespace quiver::engine {
namespace {

using ScoresById = std::unordered_map<PointId, float>;
using Predicates = std::vector<PredicatePtr>;

/// Candidates whose conditions are evaluated together.
constexpr std::size_t kMaxBlock = 4096;
/// With many conditions, a block has fewer candidates, so that so many truth values suffice.
constexpr std::size_t kMaxTruths = std::size_t{1} << 24;

std::vector<ScoresById> scores_of_inputs(const std::vector<Ranking>& rankings) {
  std::vector<ScoresById> scores;
  for (const auto& ranking : rankings) {
    auto& by_id = scores.emplace_back();
    by_id.reserve(ranking.candidates.size());
    for (const auto& candidate : ranking.candidates) {
      by_id.emplace(candidate.id, shown_score(ranking.metric, candidate.score));
    }
  }
  return scores;
}

Result<Predicates> compile_conditions(const Formula& formula, const CollectionConfig& config) {
  Predicates predicates;
  for (const auto& condition : formula.conditions) {
    payload::Filter filter;
    filter.must = {condition};
    QV_TRY(auto predicate, payload::compile(filter, config.indexes));
    predicates.push_back(std::move(predicate));
  }
  return predicates;
}

/// For each variable, whether an index covers its key.
std::vector<bool> indexed_variables(const Formula& formula, const CollectionConfig& config) {
  std::vector<bool> indexed;
  for (const auto& variable : formula.variables) {
    const std::string key = variable.path.to_string();
    const auto covers = [&](const payload::FieldIndex& index) { return index.key == key; };
    indexed.push_back(std::any_of(config.indexes.begin(), config.indexes.end(), covers));
  }
  return indexed;
}

/// Which conditions hold for each candidate of a block.
class Truths {
 public:
  /// Errors are those of `Predicate::evaluate`.
  [[nodiscard]] static Result<Truths> of(const Predicates& predicates,
                                         std::span<const Candidate> block, const Cancel& cancel) {
    Truths truths(predicates.size(), block.size());
    std::unordered_map<const Segment*, Bitset> rows;
    for (const auto& candidate : block) {
      const Segment* segment = candidate.segment;
      rows.try_emplace(segment, segment->n_rows()).first->second.set(candidate.row);
    }
    for (std::size_t c = 0; c < predicates.size(); ++c) {
      for (const auto& [segment, candidates] : rows) {
        QV_TRY(const Bitset matching,
               predicates[c]->evaluate(SegmentRows(*segment->data), candidates, cancel));
        truths.record(c, block, *segment, matching);
      }
    }
    return truths;
  }

  [[nodiscard]] bool holds(std::size_t candidate, std::size_t condition) const {
    return values_[candidate * n_conditions_ + condition] != 0;
  }

 private:
  Truths(std::size_t n_conditions, std::size_t n_candidates)
      : n_conditions_(n_conditions), values_(n_conditions * n_candidates, 0) {}

  void record(std::size_t condition, std::span<const Candidate> block, const Segment& segment,
              const Bitset& matching) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block[i].segment != &segment || !matching.test(block[i].row)) continue;
      values_[i * n_conditions_ + condition] = 1;
    }
  }

  std::size_t n_conditions_;
  std::vector<std::uint8_t> values_;  ///< `[n_candidates * n_conditions]`
};

/// A candidate as the formula sees it. Parses its payload at most once.
class CandidatePoint final : public FormulaPoint {
 public:
  CandidatePoint(const Candidate& candidate, const std::vector<ScoresById>& scores,
                 const Truths& truths, std::size_t place, const std::vector<bool>& indexed)
      : candidate_(candidate), scores_(scores), truths_(truths), place_(place), indexed_(indexed) {}

  [[nodiscard]] std::optional<float> score(std::uint64_t prefetch) const override {
    if (prefetch >= scores_.size()) return std::nullopt;
    const auto found = scores_[prefetch].find(candidate_.id);
    return found == scores_[prefetch].end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] Result<const payload::Value*> document() override {
    if (document_) return &*document_;
    const auto text = candidate_.segment->data->documents[candidate_.row];
    if (text.empty()) return &document_.emplace();
    auto document = payload::parse_json(text);
    if (document) return &document_.emplace(*std::move(document));
    return fail(Code::kDataLoss,
                fmt::format("the payload of point {} is no JSON", candidate_.id.to_string()));
  }
  [[nodiscard]] bool holds(std::size_t condition) const override {
    return truths_.holds(place_, condition);
  }
  [[nodiscard]] bool is_indexed(std::size_t variable) const override { return indexed_[variable]; }

 private:
  const Candidate& candidate_;
  const std::vector<ScoresById>& scores_;
  const Truths& truths_;
  const std::size_t place_;
  const std::vector<bool>& indexed_;
  std::optional<payload::Value> document_;
};

class FormulaStage final : public PlanStage {
 public:
  FormulaStage(const Formula& formula, PlanNode node) : formula_(formula), node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    if (node_.inputs.empty()) {
      return fail(Code::kInvalidArgument,
                  "Validation failed: cannot apply Formula without prefetches");
    }
    QV_TRY(const auto predicates, compile_conditions(formula_, environment.config));
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    const auto scores = scores_of_inputs(rankings);
    Ranking scored;
    scored.is_fused = true;
    scored.candidates = union_of(rankings);
    const std::span<Candidate> all = scored.candidates;
    const std::size_t n_conditions = std::max<std::size_t>(1, predicates.size());
    const std::size_t n_block = std::clamp<std::size_t>(kMaxTruths / n_conditions, 1, kMaxBlock);
    for (std::size_t first = 0; first < all.size(); first += n_block) {
      const auto block = all.subspan(first, std::min(n_block, all.size() - first));
      QV_TRY(score_block(environment, predicates, scores, block));
    }
    keep_best(scored.candidates, node_.limit);
    return scored;
  }

 private:
  Result<> score_block(const SearchEnvironment& environment, const Predicates& predicates,
                       const std::vector<ScoresById>& scores, std::span<Candidate> block) const {
    QV_TRY(const auto truths, Truths::of(predicates, block, environment.cancel));
    const auto indexed = indexed_variables(formula_, environment.config);
    for (std::size_t i = 0; i < block.size(); ++i) {
      QV_TRY(environment.cancel.check());
      CandidatePoint point(block[i], scores, truths, i, indexed);
      QV_TRY(block[i].score, evaluate(formula_, point));
      block[i].order_value.reset();
    }
    return {};
  }

  const Formula& formula_;
  const PlanNode node_;
};

}  // namespace

StagePtr make_stage(const Formula& kind, PlanNode node) {
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<FormulaStage>(kind, std::move(node)));
}

}  // namespace quiver::engine
