#include "engine/query/plan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

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

/// `outer`: filters of the nodes above.
StagePtr stage_of(const Query& query, const FilterPtr& outer, std::uint64_t limit,
                  bool is_reported = false, bool is_root = false) {
  PlanNode node{query, both(outer, query.filter), limit, {}};
  for (const auto& prefetch : query.prefetch) {
    node.inputs.push_back(stage_of(prefetch, node.filter, prefetch.limit, is_reported));
  }
  auto stage =
      std::visit([&](const auto& kind) { return make_stage(kind, std::move(node)); }, query.kind);
  return is_reported ? reported(query, limit, is_root, std::move(stage)) : std::move(stage);
}

}  // namespace

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

Result<Ranking> Plan::rank(const SearchEnvironment& environment) const {
  return root_->run(environment);
}

Result<std::vector<Record>> Plan::run(const SearchEnvironment& environment) const {
  QV_TRY(const auto ranking, rank(environment));
  return records_of(environment, query_, ranking);
}

}  // namespace quiver::engine
