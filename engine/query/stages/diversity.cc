// Maximal marginal relevance (Carbonell, Goldstein 1998): hits that differ from each other.
//
// The best hit comes first. Each further one is the pending hit with the greatest
//   (1 - diversity) * score - diversity * (greatest similarity to a chosen hit),
// of equal ones the better by (score, id). Similarity is the field's metric between stored vectors,
// negative for distances, as scores are. Sparse vectors without a common index have similarity 0,
// and the field's IDF modifier does not apply. Of two multi-vectors, the pending one is the query.
// A hit of a fusion without a vector of the field has similarity 0 to all others.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/row.h"
#include "engine/query/stages/field_query.h"
#include "engine/query/stages/stages.h"
#include "index/exact/searcher.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kScoresBetweenChecks = 64;

/// Prepares a stored vector as the query of its field.
struct AsQuery {
  const FieldSchema& schema;

  index::PreparedQuery operator()(const DenseVector& vector) const {
    return index::PreparedQuery::dense(schema, vector);
  }
  index::PreparedQuery operator()(const SparseVector& vector) const {
    return index::PreparedQuery::sparse(schema, {vector.indices, vector.values});
  }
  index::PreparedQuery operator()(const MultiVector& vector) const {
    return index::PreparedQuery::multi(schema, vector.values);
  }
};

/// The greedy choice. `candidates`: best first.
class Selection {
 public:
  Selection(const SearchEnvironment& environment, std::size_t field, float diversity,
            Candidates candidates)
      : environment_(environment),
        field_(field),
        diversity_(diversity),
        pending_(std::move(candidates)),
        nearest_chosen_(pending_.size(), -std::numeric_limits<float>::infinity()) {}

  Result<Candidates> choose(std::uint64_t limit) {
    Candidates chosen;
    while (!pending_.empty() && chosen.size() < limit) {
      const std::size_t best = chosen.empty() ? 0 : best_pending();
      chosen.push_back(take(best));
      if (chosen.size() < limit) QV_TRY(compare_with(chosen.back()));
    }
    return chosen;
  }

 private:
  [[nodiscard]] double marginal_relevance(std::size_t i) const {
    const double diversity = diversity_;
    return (1 - diversity) * pending_[i].score - diversity * nearest_chosen_[i];
  }

  [[nodiscard]] std::size_t best_pending() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < pending_.size(); ++i) {
      if (marginal_relevance(i) > marginal_relevance(best)) best = i;
    }
    return best;
  }

  Candidate take(std::size_t i) {
    Candidate taken = std::move(pending_[i]);
    const auto at = static_cast<std::ptrdiff_t>(i);
    pending_.erase(pending_.begin() + at);
    nearest_chosen_.erase(nearest_chosen_.begin() + at);
    return taken;
  }

  [[nodiscard]] bool has_vector(const Candidate& candidate) const {
    return candidate.segment->data->fields[field_].present[candidate.row] != 0;
  }

  [[nodiscard]] index::PreparedQuery query_of(const Candidate& candidate) const {
    const auto& schema = environment_.config.fields[field_];
    return std::visit(AsQuery{schema}, vector_of(candidate, field_));
  }

  [[nodiscard]] float similarity(const index::PreparedQuery& query, const Candidate& to) const {
    const auto& column = to.segment->data->fields[field_];
    return index::score_row(query, column, to.row).value_or(0.0F);
  }

  Result<> compare_with(const Candidate& chosen) {
    // MaxSim is not symmetric: each pending multi-vector is the query. Otherwise one query, the
    // chosen vector, serves all.
    const bool is_multi = environment_.config.fields[field_].kind == FieldKind::kMulti;
    const auto query = has_vector(chosen) ? std::optional(query_of(chosen)) : std::nullopt;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (i % kScoresBetweenChecks == 0) QV_TRY(environment_.cancel.check());
      float score = 0;
      if (query && has_vector(pending_[i])) {
        score =
            is_multi ? similarity(query_of(pending_[i]), chosen) : similarity(*query, pending_[i]);
      }
      nearest_chosen_[i] = std::max(nearest_chosen_[i], score);
    }
    return {};
  }

  const SearchEnvironment& environment_;
  const std::size_t field_;
  const float diversity_;
  Candidates pending_;                 ///< in order of score
  std::vector<float> nearest_chosen_;  ///< greatest similarity of each pending one to a chosen one
};

class DiversifyStage final : public PlanStage {
 public:
  DiversifyStage(const Mmr& mmr, const std::string& field, std::uint64_t limit, StagePtr input)
      : mmr_(mmr), field_(field), limit_(limit), input_(std::move(input)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    QV_TRY(auto ranking, input_->run(environment));
    QV_TRY(const std::size_t field, environment.config.field(field_));
    Selection selection(environment, field, mmr_.diversity, std::move(ranking.candidates));
    QV_TRY(ranking.candidates, selection.choose(limit_));
    return ranking;
  }

 private:
  const Mmr& mmr_;
  const std::string& field_;
  const std::uint64_t limit_;
  const StagePtr input_;
};

}  // namespace

StagePtr diversify(const Mmr& mmr, const std::string& field, std::uint64_t limit, StagePtr input) {
  return std::make_unique<DiversifyStage>(mmr, field, limit, std::move(input));
}

}  // namespace quiver::engine
