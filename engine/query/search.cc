#include "engine/query/search.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <utility>

#include "engine/query/candidates.h"
#include "engine/query/diversity.h"
#include "engine/query/field_query.h"
#include "engine/query/fusion.h"
#include "engine/query/ordering.h"
#include "engine/query/segment_search.h"
#include "engine/segment/segment_rows.h"
#include "index/exact/searcher.h"
#include "index/exact/type.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {
namespace {

using PredicatePtr = std::shared_ptr<const payload::Predicate>;
using FilterPtr = std::shared_ptr<const payload::Filter>;

FilterPtr both(const FilterPtr& outer, const std::optional<payload::Filter>& inner) {
  if (!inner) return outer;
  auto own = std::make_shared<const payload::Filter>(*inner);
  if (outer == nullptr) return own;
  payload::Filter merged;
  merged.must = {outer, own};
  return std::make_shared<const payload::Filter>(std::move(merged));
}

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

class QueryRun {
 public:
  explicit QueryRun(const SearchEnvironment& environment) : environment_(environment) {}

  /// The best `limit` of a node and its prefetches. `outer`: filters of the nodes above.
  Result<Ranking> run(const Query& node, const FilterPtr& outer, std::uint64_t limit) {
    const FilterPtr filter = both(outer, node.filter);
    const auto* nearest = std::get_if<Nearest>(&node.kind);
    const bool is_diverse = nearest != nullptr && nearest->mmr;
    const std::uint64_t wanted =
        is_diverse ? nearest->mmr->candidates_limit.value_or(limit) : limit;
    QV_TRY(auto ranking,
           node.prefetch.empty() ? leaf(node, filter, wanted) : merge(node, filter, wanted));
    if (node.score_threshold) {
      apply_threshold(*node.score_threshold, is_fusion(node.kind), ranking);
    }
    if (is_diverse) QV_TRY(diversify(environment_, node, limit, ranking.candidates));
    return ranking;
  }

  /// The same for each of several queries that `are_searched_alike`.
  Result<std::vector<Ranking>> run_alike(std::span<const Query* const> nodes) {
    std::vector<FieldQuery> queries;
    queries.reserve(nodes.size());
    for (const Query* node : nodes) {
      QV_TRY(auto query, field_query(environment_, node->using_field, std::get<Nearest>(node->kind),
                                     node->params.token_weights));
      queries.push_back(std::move(query));
    }
    FieldSearch search{{}, {}, queries[0].field, nullptr, nodes[0]->params};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      search.queries.push_back(&queries[i].prepared);
      search.limits.push_back(saturating_add(nodes[i]->limit, nodes[i]->offset));
    }
    QV_TRY(auto candidates, search_segments(environment_, search));
    std::vector<Ranking> rankings;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      rankings.push_back({std::move(candidates[i]), queries[i].prepared.schema().metric});
      const auto& threshold = nodes[i]->score_threshold;
      if (threshold) apply_threshold(*threshold, false, rankings.back());
    }
    return rankings;
  }

 private:
  Result<Ranking> leaf(const Query& node, const FilterPtr& filter, std::uint64_t limit) {
    QV_TRY(const auto predicate, compile(filter));
    if (const auto* nearest = std::get_if<Nearest>(&node.kind)) {
      return nearest_leaf(node, *nearest, predicate.get(), limit);
    }
    if (const auto* order = std::get_if<OrderBy>(&node.kind)) {
      return ordered(*order, limit, [&](const Segment& segment) {
        return matching_rows(segment, predicate.get(), environment_.cancel);
      });
    }
    if (std::holds_alternative<Sample>(node.kind)) return sample(predicate.get(), limit);
    if (std::holds_alternative<NoQuery>(node.kind)) return listing(predicate.get(), limit);
    return fail(Code::kFailedPrecondition, "Fusion queries need at least one prefetch to fuse.");
  }

  Result<Ranking> merge(const Query& node, const FilterPtr& filter, std::uint64_t limit) {
    std::vector<Ranking> lists;
    for (const auto& prefetch : node.prefetch) {
      QV_TRY(auto list, run(prefetch, filter, prefetch.limit));
      lists.push_back(std::move(list));
    }
    if (const auto* rrf = std::get_if<Rrf>(&node.kind)) {
      if (!rrf->weights.empty() && rrf->weights.size() != lists.size()) {
        return fail(Code::kFailedPrecondition,
                    fmt::format("rrf has {} weights for {} prefetches, must be one for each",
                                rrf->weights.size(), lists.size()));
      }
      return fused(lists, fuse_rrf(ranked(lists), *rrf), limit);
    }
    if (std::holds_alternative<Dbsf>(node.kind))
      return fused(lists, fuse_dbsf(ranked(lists)), limit);
    if (const auto* nearest = std::get_if<Nearest>(&node.kind)) {
      return rescored(node, *nearest, union_of(lists), limit);
    }
    if (const auto* order = std::get_if<OrderBy>(&node.kind)) {
      const auto rows = rows_by_segment(union_of(lists));
      return ordered(*order, limit, [&](const Segment& segment) -> Result<Bitset> {
        const auto found = rows.find(&segment);
        return found == rows.end() ? Bitset(segment.n_rows()) : found->second;
      });
    }
    if (std::holds_alternative<Sample>(node.kind)) return sampled(union_of(lists), limit);
    return fail(Code::kFailedPrecondition,
                "A query is needed to merge the prefetches. Can't have prefetches without defining "
                "a query.");
  }

  Result<PredicatePtr> compile(const FilterPtr& filter) const {
    if (filter == nullptr) return PredicatePtr();
    return payload::compile(*filter, environment_.config.indexes);
  }

  // Nearest vectors.

  Result<Ranking> nearest_leaf(const Query& node, const Nearest& nearest,
                               const payload::Predicate* predicate, std::uint64_t limit) {
    QV_TRY(const auto query,
           field_query(environment_, node.using_field, nearest, node.params.token_weights));
    const FieldSearch search{{&query.prepared}, {limit}, query.field, predicate, node.params};
    QV_TRY(auto candidates, search_segments(environment_, search));
    return Ranking{std::move(candidates[0]), query.prepared.schema().metric};
  }

  Result<Ranking> rescored(const Query& node, const Nearest& nearest, const Candidates& candidates,
                           std::uint64_t limit) {
    QV_TRY(const auto query,
           field_query(environment_, node.using_field, nearest, node.params.token_weights));
    Candidates scored;
    for (const auto& candidate : candidates) {
      QV_TRY(environment_.cancel.check());
      const auto& column = candidate.segment->data->fields[query.field];
      const auto score = index::score_row(query.prepared, column, candidate.row);
      if (!score) continue;
      scored.push_back(candidate);
      scored.back().score = *score;
    }
    keep_best(scored, limit);
    return Ranking{std::move(scored), query.prepared.schema().metric};
  }

  // Without vectors.

  template <class RowsOf>
  Result<Ranking> ordered(const OrderBy& order, std::uint64_t limit, RowsOf rows_of) {
    QV_TRY(auto points, first_points_in_order(environment_.snapshot, environment_.config, order,
                                              limit, rows_of));
    Ranking ranking;
    for (const auto& point : points) {
      ranking.candidates.push_back(
          {point.segment->data->ids[point.row], 1.0F, point.segment, point.row, point.value});
    }
    return ranking;
  }

  Result<Ranking> listing(const payload::Predicate* predicate, std::uint64_t limit) {
    QV_TRY(const auto places, first_points_by_id(environment_.snapshot, std::nullopt, limit,
                                                 predicate, environment_.cancel));
    Ranking ranking;
    for (const auto& place : places) {
      ranking.candidates.push_back(
          {place.segment->data->ids[place.row], 1.0F, place.segment, place.row, {}});
    }
    return ranking;
  }

  Result<Ranking> sample(const payload::Predicate* predicate, std::uint64_t limit) {
    Candidates all;
    for (const Segment* segment : environment_.snapshot.segments()) {
      QV_TRY(const Bitset rows, matching_rows(*segment, predicate, environment_.cancel));
      rows.for_each([&](std::size_t row) {
        const auto number = static_cast<std::uint32_t>(row);
        all.push_back({segment->data->ids[number], 1.0F, segment, number, {}});
      });
    }
    return sampled(all, limit);
  }

  const SearchEnvironment& environment_;
};

bool is_listing(const QueryKind& kind) {
  return std::holds_alternative<NoQuery>(kind) || std::holds_alternative<OrderBy>(kind) ||
         std::holds_alternative<Sample>(kind);
}

/// How many of the ranked points are left out. A sample is another one each time, so that leaving
/// some of it out means nothing; that of prefetches' hits is cut as any list is.
std::uint64_t offset_of(const Query& query) {
  const bool is_sample = std::holds_alternative<Sample>(query.kind) && query.prefetch.empty();
  return is_sample ? 0 : query.offset;
}

/// Payloads and vectors may be long.
constexpr std::size_t kRecordsBetweenChecks = 16;

Result<std::vector<Record>> records_of(const SearchEnvironment& environment, const Query& query,
                                       const Ranking& ranking) {
  std::optional<std::vector<std::size_t>> fields;
  if (!query.with_vector.none()) {
    QV_TRY(fields, selected_fields(query.with_vector, environment.config));
  }
  std::vector<Record> records;
  const bool listing = is_listing(query.kind);
  for (std::size_t i = offset_of(query); i < ranking.candidates.size(); ++i) {
    if (i % kRecordsBetweenChecks == 0) QV_TRY(environment.cancel.check());
    const auto& candidate = ranking.candidates[i];
    auto record = make_record(*candidate.segment, candidate.row, query.with_payload,
                              fields ? &*fields : nullptr);
    record.score = shown_score(ranking.metric, candidate.score);
    record.order_value = candidate.order_value;
    if (listing) record.version = Seq{0};
    records.push_back(std::move(record));
  }
  return records;
}

/// The points of this collection that a query and its prefetches name in place of vectors.
void add_referenced(const Query& node, std::vector<PointId>& ids) {
  if (const auto* nearest = std::get_if<Nearest>(&node.kind)) {
    if (const auto* id = std::get_if<PointId>(&nearest->vector)) ids.push_back(*id);
    if (nearest->own) ids.push_back(*nearest->own);
  }
  for (const auto& prefetch : node.prefetch) add_referenced(prefetch, ids);
}

/// None of them is a hit, whichever part of the query names it; nullptr: there are none.
FilterPtr without_referenced(const Query& query) {
  payload::HasId referenced;
  add_referenced(query, referenced.ids);
  if (referenced.ids.empty()) return nullptr;
  payload::Filter filter;
  filter.must_not = {std::move(referenced)};
  return std::make_shared<const payload::Filter>(std::move(filter));
}

/// A vector by value, and nothing that makes its rows other than those of the next.
bool is_plain(const Query& query) {
  const auto* nearest = std::get_if<Nearest>(&query.kind);
  return nearest != nullptr && std::holds_alternative<VectorValue>(nearest->vector) &&
         !nearest->own && !nearest->mmr && query.prefetch.empty() && !query.filter;
}

}  // namespace

bool are_searched_alike(const Query& a, const Query& b) {
  return is_plain(a) && is_plain(b) && a.using_field == b.using_field && a.params == b.params;
}

bool shares_passes(const Snapshot& snapshot, const Query& query) {
  if (!is_plain(query)) return false;
  std::uint64_t all = 0;
  std::uint64_t exact = 0;
  for (const Segment* segment : snapshot.segments()) {
    const auto& data = *segment->data;
    for (std::size_t f = 0; f < data.fields.size(); ++f) {
      const auto& schema = data.fields[f].schema;
      if (schema.name != query.using_field || schema.kind != FieldKind::kDense) continue;
      const std::uint64_t bytes = data.searchers[f]->bytes_per_search();
      all += bytes;
      if (query.params.exact || data.indexes[f].type == &index::kFlat) exact += bytes;
    }
  }
  return exact > all / 2;
}

Result<std::vector<Record>> run_query(const SearchEnvironment& environment, const Query& query) {
  QueryRun run(environment);
  QV_TRY(const auto ranking,
         run.run(query, without_referenced(query), saturating_add(query.limit, offset_of(query))));
  return records_of(environment, query, ranking);
}

Result<std::vector<std::vector<Record>>> run_queries(const SearchEnvironment& environment,
                                                     std::span<const Query> queries) {
  std::vector<std::vector<Record>> answers(queries.size());
  std::vector<bool> answered(queries.size(), false);
  for (std::size_t first = 0; first < queries.size(); ++first) {
    if (answered[first]) continue;
    std::vector<std::size_t> numbers = {first};
    std::vector<const Query*> alike = {&queries[first]};
    for (std::size_t i = first + 1; i < queries.size(); ++i) {
      if (answered[i] || !are_searched_alike(queries[first], queries[i])) continue;
      numbers.push_back(i);
      alike.push_back(&queries[i]);
      answered[i] = true;
    }
    if (alike.size() == 1) {
      QV_TRY(answers[first], run_query(environment, queries[first]));
      continue;
    }
    QueryRun run(environment);
    QV_TRY(const auto rankings, run.run_alike(alike));
    for (std::size_t i = 0; i < alike.size(); ++i) {
      QV_TRY(answers[numbers[i]], records_of(environment, *alike[i], rankings[i]));
    }
  }
  return answers;
}

std::uint64_t scan_bytes(const Snapshot& snapshot, const Query& query) {
  std::uint64_t bytes = 0;
  for (const Segment* segment : snapshot.segments()) {
    if (query.filter) bytes += segment->data->documents.bytes.size();
    const auto& data = *segment->data;
    for (std::size_t f = 0; f < data.fields.size(); ++f) {
      if (data.fields[f].schema.name != query.using_field) continue;
      bytes += data.searchers[f]->bytes_per_search();
    }
  }
  for (const auto& prefetch : query.prefetch) bytes += scan_bytes(snapshot, prefetch);
  return bytes;
}

}  // namespace quiver::engine
