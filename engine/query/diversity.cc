#include "engine/query/diversity.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/row.h"
#include "engine/query/field_query.h"
#include "index/exact/searcher.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kScoresBetweenChecks = 64;

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

  [[nodiscard]] index::PreparedQuery query_of(const Candidate& candidate) const {
    const auto& schema = environment_.config.fields[field_];
    const auto value = to_value(schema, candidate.segment->vector(field_, candidate.row));
    return std::visit(AsQuery{schema}, value);
  }

  [[nodiscard]] float similarity(const index::PreparedQuery& query, const Candidate& to) const {
    const auto& column = to.segment->data->fields[field_];
    return index::score_row(query, column, to.row).value_or(0.0F);
  }

  Result<> compare_with(const Candidate& chosen) {
    // MaxSim differs by side; of the others one query is prepared for all.
    const bool is_multi = environment_.config.fields[field_].kind == FieldKind::kMulti;
    const index::PreparedQuery query = query_of(chosen);
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (i % kScoresBetweenChecks == 0) QV_TRY(environment_.cancel.check());
      const float score =
          is_multi ? similarity(query_of(pending_[i]), chosen) : similarity(query, pending_[i]);
      nearest_chosen_[i] = std::max(nearest_chosen_[i], score);
    }
    return {};
  }

  const SearchEnvironment& environment_;
  const std::size_t field_;
  const float diversity_;
  Candidates pending_;                 ///< in order of score
  std::vector<float> nearest_chosen_;  ///< of each pending one
};

}  // namespace

Result<> diversify(const SearchEnvironment& environment, const Query& node, std::uint64_t limit,
                   Candidates& candidates) {
  QV_TRY(const std::size_t field, environment.config.field(node.using_field));
  const Mmr& mmr = *std::get<Nearest>(node.kind).mmr;
  Selection selection(environment, field, mmr.diversity, std::move(candidates));
  QV_TRY(candidates, selection.choose(limit));
  return {};
}

}  // namespace quiver::engine
