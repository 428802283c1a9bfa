#include "engine/query/plan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "engine/model/query_vectors.h"
#include "engine/query/record_highlighter.h"
#include "engine/query/report.h"
#include "engine/query/stages/stages.h"
#include "engine/segment/record_memory.h"

namespace quiver::engine {
namespace {

/// Payloads and vectors may be long.
constexpr std::size_t kRecordsBetweenChecks = 16;

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

/// Borrows `inner`, without a copy.
FilterPtr both(const FilterPtr& outer, const std::optional<payload::Filter>& inner) {
  if (!inner) return outer;
  FilterPtr own(FilterPtr(), &*inner);
  if (outer == nullptr) return own;
  payload::Filter merged;
  merged.must = {outer, std::move(own)};
  return std::make_shared<const payload::Filter>(std::move(merged));
}

void add_all_named_points(const Query& query, std::vector<PointId>& ids) {
  std::visit([&](const auto& kind) { add_named_points(kind, ids); }, query.kind);
  for (const auto& prefetch : query.prefetch) add_all_named_points(prefetch, ids);
}

/// Leaves out each point that some part of the query names; nullptr if there is none.
FilterPtr without_named_points(const Query& query) {
  payload::HasId named;
  add_all_named_points(query, named.ids);
  if (named.ids.empty()) return nullptr;
  payload::Filter filter;
  filter.must_not = {std::move(named)};
  return std::make_shared<const payload::Filter>(std::move(filter));
}

/// Rankings that take the place of searches, in the order of the tree.
class Found {
 public:
  explicit Found(std::vector<Ranking> rankings) : rankings_(std::move(rankings)) {}
  StagePtr next_stage(const Query& query, std::uint64_t limit) {
    StagePtr stage = known_ranking(std::move(rankings_.at(next_++)));
    const Mmr* mmr = mmr_of(query.kind);
    return mmr == nullptr ? std::move(stage)
                          : diversify(*mmr, query.using_field, limit, std::move(stage));
  }

 private:
  std::vector<Ranking> rankings_;
  std::size_t next_ = 0;
};

/// `outer`: filters of the nodes above. `found`: nullptr: searches read the snapshot.
StagePtr stage_of(const Query& query, const FilterPtr& outer, std::uint64_t limit,
                  bool is_reported = false, bool is_root = false, Found* found = nullptr) {
  if (found != nullptr && query.prefetch.empty()) return found->next_stage(query, limit);
  PlanNode node{query, both(outer, query.filter), limit, {}};
  for (const auto& prefetch : query.prefetch) {
    node.inputs.push_back(
        stage_of(prefetch, node.filter, prefetch.limit, is_reported, false, found));
  }
  auto stage =
      std::visit([&](const auto& kind) { return make_stage(kind, std::move(node)); }, query.kind);
  return is_reported ? reported(query, limit, is_root, std::move(stage)) : std::move(stage);
}

void leave_out_mmr(QueryKind& kind) {
  std::visit(
      [](auto& one) {
        if constexpr (requires { one.mmr; }) one.mmr.reset();
      },
      kind);
}

void add_searches(const Query& query, const FilterPtr& outer, std::uint64_t limit,
                  std::vector<Query>& searches) {
  const FilterPtr filter = both(outer, query.filter);
  for (const auto& prefetch : query.prefetch) {
    add_searches(prefetch, filter, prefetch.limit, searches);
  }
  if (!query.prefetch.empty()) return;
  Query search = query;
  const Mmr* mmr = mmr_of(query.kind);
  search.limit = mmr == nullptr ? limit : mmr->candidates_limit.value_or(limit);
  search.offset = 0;
  leave_out_mmr(search.kind);
  search.filter.reset();
  if (filter != nullptr) search.filter = *filter;
  search.report = nullptr;
  search.recall = nullptr;
  searches.push_back(std::move(search));
}

bool has_counts(const Query& node, const CollectionConfig& config) {
  if (std::holds_alternative<TextMatch>(node.kind)) return true;
  const auto* field = config.find_field(node.using_field);
  return field != nullptr && field->modifier == SparseModifier::kIdf &&
         !vectors_of(node.kind).empty();
}

void add_counted_nodes(Query& query, const FilterPtr& outer, const CollectionConfig& config,
                       std::vector<CountedNode>& nodes) {
  const FilterPtr filter = both(outer, query.filter);
  for (auto& prefetch : query.prefetch) add_counted_nodes(prefetch, filter, config, nodes);
  if (!has_counts(query, config)) return;
  Query question;
  question.kind = query.kind;
  question.using_field = query.using_field;
  question.params = query.params;
  if (filter != nullptr) question.filter = *filter;
  nodes.push_back({&query, std::move(question)});
}

}  // namespace

std::vector<CountedNode> counted_nodes(Query& query, const CollectionConfig& config) {
  std::vector<CountedNode> nodes;
  add_counted_nodes(query, nullptr, config, nodes);
  return nodes;
}

std::vector<Query> searches_of(const Query& query) {
  std::vector<Query> searches;
  add_searches(query, without_named_points(query), n_ranked(query), searches);
  for (auto& search : searches) search.shards = query.shards;
  return searches;
}

Result<std::vector<Ranking>> rank_prefetches(const SearchEnvironment& environment,
                                             const Query& query) {
  const FilterPtr filter = both(without_named_points(query), query.filter);
  std::vector<Ranking> rankings;
  for (const auto& prefetch : query.prefetch) {
    QV_TRY(auto ranking, stage_of(prefetch, filter, prefetch.limit)->run(environment));
    rankings.push_back(std::move(ranking));
  }
  return rankings;
}

std::uint64_t n_ranked(const Query& query) { return saturating_add(query.limit, query.offset); }

Result<std::vector<Record>> records_of(const SearchEnvironment& environment, const Query& query,
                                       const Ranking& ranking) {
  std::optional<std::vector<std::size_t>> fields;
  if (!query.with_vector.none()) {
    QV_TRY(fields, selected_fields(query.with_vector, environment.config));
  }
  QV_TRY(const auto highlighter, RecordHighlighter::of(query, environment.config));
  const std::uint64_t first = ranking.is_redrawn ? 0 : query.offset;
  const std::uint64_t end =
      std::min<std::uint64_t>(ranking.candidates.size(), saturating_add(first, query.limit));
  std::vector<Record> records;
  RecordMemory memory;
  records.reserve(end > first ? end - first : 0);
  for (std::uint64_t i = first; i < end; ++i) {
    if (i % kRecordsBetweenChecks == 0) QV_TRY(environment.cancel.check());
    const auto& candidate = ranking.candidates[i];
    auto record = make_record(*candidate.segment, candidate.row, query.with_payload,
                              fields ? &*fields : nullptr);
    record.score = shown_score(ranking.metric, candidate.score);
    record.shard_key = environment.snapshot.key_of(*candidate.segment);
    record.order_value = candidate.order_value;
    if (ranking.is_listing) record.version = Seq{0};
    if (highlighter != nullptr) {
      QV_TRY(environment.cancel.check());
      QV_TRY(record.highlights, highlighter->run(*candidate.segment, candidate.row));
    }
    QV_TRY(memory.add(record));
    records.push_back(std::move(record));
  }
  return records;
}

Plan::Plan(const Query& query)
    : query_(query),
      root_(stage_of(query, without_named_points(query), n_ranked(query), query.report != nullptr,
                     true)) {}

Plan::Plan(const Query& query, std::vector<Ranking> found)
    : query_(query), root_([&] {
        Found given(std::move(found));
        return stage_of(query, without_named_points(query), n_ranked(query), false, true, &given);
      }()) {}

Result<Ranking> Plan::rank(const SearchEnvironment& environment) const {
  return root_->run(environment);
}

Result<std::vector<Record>> Plan::run(const SearchEnvironment& environment) const {
  QV_TRY(const auto ranking, rank(environment));
  return records_of(environment, query_, ranking);
}

}  // namespace quiver::engine
