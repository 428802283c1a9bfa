#include "engine/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

#include "engine/fusion.h"
#include "engine/ordering.h"
#include "engine/segment_rows.h"
#include "index/flat/searcher.h"
#include "payload/predicate.h"

namespace quiver::engine {
namespace {

using PredicatePtr = std::shared_ptr<const payload::Predicate>;
using FilterPtr = std::shared_ptr<const payload::Filter>;

/// A point on its way up through the query tree. `score`: larger is better.
struct Candidate {
  PointId id;
  float score = 0;
  const Segment* segment = nullptr;
  std::uint32_t row = 0;
  std::optional<OrderValue> order_value;
};
using Candidates = std::vector<Candidate>;

void sort_best_first(Candidates& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
}

/// Similarity as users see it: distances are positive, Euclid is the root.
float shown_score(Metric metric, float score) {
  if (metric == Metric::kEuclid) return std::sqrt(std::abs(score));
  if (metric == Metric::kManhattan) return 0.0F - score;
  return score;
}

/// How the scores of a node's result are shown; fused ones as they are.
struct Ranking {
  Candidates candidates;
  Metric metric = Metric::kDot;
};

bool passes_threshold(Metric metric, float score, float threshold) {
  const float shown = shown_score(metric, score);
  return is_distance(metric) ? shown < threshold : shown > threshold;
}

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
    QV_TRY(auto ranking,
           node.prefetch.empty() ? leaf(node, filter, limit) : merge(node, filter, limit));
    apply_threshold(node, ranking);
    return ranking;
  }

  /// The same for each of several queries that `are_searched_alike`.
  Result<std::vector<Ranking>> run_alike(std::span<const Query* const> nodes) {
    QV_TRY(const std::size_t field, field_number(nodes[0]->using_field));
    const auto& schema = environment_.config.fields[field];
    std::vector<index::Query> prepared;
    Leaf leaf{{}, {}, field, nullptr, std::nullopt, nodes[0]->params};
    prepared.reserve(nodes.size());
    for (const Query* node : nodes) {
      const auto& nearest = std::get<Nearest>(node->kind);
      QV_TRY(auto query, prepare(schema, field, std::get<VectorValue>(nearest.vector)));
      prepared.push_back(std::move(query));
      leaf.queries.push_back(&prepared.back());
      leaf.limits.push_back(saturating_add(node->limit, node->offset));
    }
    QV_TRY(auto candidates, search_segments(leaf));
    std::vector<Ranking> rankings;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      rankings.push_back({std::move(candidates[i]), schema.metric});
      apply_threshold(*nodes[i], rankings.back());
    }
    return rankings;
  }

 private:
  static void apply_threshold(const Query& node, Ranking& ranking) {
    if (!node.score_threshold) return;
    std::erase_if(ranking.candidates, [&](const Candidate& candidate) {
      return !passes_threshold(ranking.metric, candidate.score, *node.score_threshold);
    });
  }

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

  Result<std::size_t> field_number(const std::string& name) const {
    const auto& fields = environment_.config.fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == name) return i;
    }
    return fail(Code::kInvalidArgument, fmt::format("Not existing vector name error: {}", name));
  }

  /// The query vector by value; `id` is set if it is that of a stored point.
  Result<VectorValue> query_vector(const Nearest& nearest, std::size_t field,
                                   std::optional<PointId>& id) const {
    if (const auto* value = std::get_if<VectorValue>(&nearest.vector)) return *value;
    id = std::get<PointId>(nearest.vector);
    const auto place = environment_.snapshot.find(*id);
    if (!place) {
      return fail(Code::kNotFound, fmt::format("No point with id {} found", id->to_string()));
    }
    const auto& schema = environment_.config.fields[field];
    const auto stored = place->segment->vector(field, place->row);
    if (!is_present(stored)) {
      return fail(Code::kNotFound,
                  fmt::format("Point with id {} has no vector `{}`", id->to_string(), schema.name));
    }
    return to_value(schema, stored);
  }

  Result<index::Query> prepare(const FieldSchema& schema, std::size_t field, VectorValue value) {
    if (schema.kind == FieldKind::kMulti && std::holds_alternative<DenseVector>(value)) {
      auto& token = std::get<DenseVector>(value);
      const auto dim = static_cast<std::uint32_t>(token.size());
      value = MultiVector{1, dim, std::move(token)};
    }
    QV_TRY(check_vector(schema, value));
    if (const auto* multi = std::get_if<MultiVector>(&value)) {
      return index::Query::multi(schema, multi->values);
    }
    if (const auto* dense = std::get_if<DenseVector>(&value)) {
      return index::Query::dense(schema, *dense);
    }
    QV_TRY(const auto stored, to_stored(schema, value));
    auto sparse = std::get<SparseVector>(stored);
    if (schema.modifier == SparseModifier::kIdf) QV_TRY(weigh_by_idf(field, sparse));
    return index::Query::sparse(schema, {sparse.indices, sparse.values});
  }

  /// Multiplies by ln((N - n + 0.5) / (n + 0.5) + 1): N points with a vector, n of them with the
  /// index.
  Result<> weigh_by_idf(std::size_t field, SparseVector& query) const {
    std::vector<std::uint64_t> counts(query.indices.size(), 0);
    std::uint64_t n_points = 0;
    for (const Segment* segment : environment_.snapshot.segments()) {
      const Bitset rows = with_vector(*segment, field, segment->live());
      n_points += rows.count();
      QV_TRY(index::count_terms(segment->data->fields[field].sparse(), index::FilterView::of(rows),
                                query.indices, counts, environment_.cancel));
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto n = static_cast<double>(counts[i]);
      const double idf = std::log((static_cast<double>(n_points) - n + 0.5) / (n + 0.5) + 1);
      query.values[i] = static_cast<float>(query.values[i] * idf);
    }
    return {};
  }

  static Bitset with_vector(const Segment& segment, std::size_t field, Bitset rows) {
    const auto& column = segment.data->fields[field];
    if (column.all_present()) return rows;
    for (std::uint32_t row = 0; row < column.n_rows; ++row) {
      if (column.present[row] == 0) rows.reset(row);
    }
    return rows;
  }

  Result<Ranking> nearest_leaf(const Query& node, const Nearest& nearest,
                               const payload::Predicate* predicate, std::uint64_t limit) {
    QV_TRY(const std::size_t field, field_number(node.using_field));
    const auto& schema = environment_.config.fields[field];
    std::optional<PointId> excluded;
    QV_TRY(auto value, query_vector(nearest, field, excluded));
    QV_TRY(const auto query, prepare(schema, field, std::move(value)));
    const Leaf leaf{{&query}, {limit}, field, predicate, excluded, node.params};
    QV_TRY(auto candidates, search_segments(leaf));
    return Ranking{std::move(candidates[0]), schema.metric};
  }

  /// Queries of one field that are searched alike, over one pass of its vectors where the index
  /// can.
  struct Leaf {
    std::vector<const index::Query*> queries;
    std::vector<std::uint64_t> limits;  ///< one for each
    std::size_t field;
    const payload::Predicate* predicate;
    std::optional<PointId> excluded;
    const SearchParams& params;
  };
  using Floors = std::vector<std::atomic<float>>;

  /// The best of each query.
  Result<std::vector<Candidates>> search_segments(const Leaf& leaf) {
    const auto& segments = environment_.snapshot.segments();
    std::vector<Result<std::vector<Candidates>>> parts(segments.size());
    Floors floors(leaf.queries.size());
    for (auto& floor : floors) floor = -std::numeric_limits<float>::infinity();
    const auto search = [&](std::size_t i) {
      parts[i] = search_segment(leaf, *segments[i], floors);
    };
    if (environment_.executor != nullptr && segments.size() > 1) {
      environment_.executor->parallel_for(segments.size(), search);
    } else {
      for (std::size_t i = 0; i < segments.size(); ++i) search(i);
    }
    return merged(leaf, parts);
  }

  static Result<std::vector<Candidates>> merged(
      const Leaf& leaf, const std::vector<Result<std::vector<Candidates>>>& parts) {
    std::vector<Candidates> best(leaf.queries.size());
    for (const auto& part : parts) {
      if (!part) return fail(part.error());
      for (std::size_t i = 0; i < part->size(); ++i) {
        best[i].insert(best[i].end(), (*part)[i].begin(), (*part)[i].end());
      }
    }
    for (std::size_t i = 0; i < best.size(); ++i) {
      sort_best_first(best[i]);
      if (best[i].size() > leaf.limits[i]) best[i].resize(leaf.limits[i]);
    }
    return best;
  }

  /// The rows that may be hits; nullopt: all.
  Result<std::optional<Bitset>> allowed_rows(const Leaf& leaf, const Segment& segment) const {
    const bool filtered = leaf.predicate != nullptr && !leaf.predicate->always_true();
    const auto& column = segment.data->fields[leaf.field];
    if (!filtered && segment.n_deleted == 0 && column.all_present() && !leaf.excluded) {
      return std::optional<Bitset>();
    }
    QV_TRY(auto allowed, matching_rows(segment, leaf.predicate, environment_.cancel));
    allowed = with_vector(segment, leaf.field, std::move(allowed));
    const auto own = leaf.excluded ? segment.find(*leaf.excluded) : std::nullopt;
    if (own) allowed.reset(*own);
    return std::optional<Bitset>(std::move(allowed));
  }

  Result<std::vector<Candidates>> search_segment(const Leaf& leaf, const Segment& segment,
                                                 Floors& floors) const {
    const auto& data = *segment.data;
    if (data.fields[leaf.field].n_present == 0) return std::vector<Candidates>{};
    QV_TRY(const auto allowed, allowed_rows(leaf, segment));
    const auto filter =
        allowed ? index::FilterView::of(*allowed) : index::FilterView::all(data.n_rows);
    std::vector<index::TopK> heaps;
    heaps.reserve(leaf.queries.size());
    for (std::size_t i = 0; i < leaf.queries.size(); ++i) {
      const std::uint64_t limit = leaf.limits[i];
      heaps.emplace_back(std::min<std::uint64_t>(limit, segment.n_live()),
                         data.sealed ? std::span<const PointId>() : data.ids.span(),
                         segment.n_live() >= limit ? &floors[i] : nullptr);
    }
    QV_TRY(search_index(leaf, *data.searchers[leaf.field], filter, heaps));
    std::vector<Candidates> candidates(heaps.size());
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      for (const auto& hit : heaps[i].take_sorted()) {
        candidates[i].push_back({data.ids[hit.row], hit.score, &segment, hit.row, {}});
      }
    }
    return candidates;
  }

  Result<> search_index(const Leaf& leaf, const index::Searcher& searcher,
                        const index::FilterView& filter, std::vector<index::TopK>& heaps) const {
    const auto prefer = leaf.params.exact          ? index::Prefer::kExact
                        : leaf.params.indexed_only ? index::Prefer::kIndexed
                                                   : index::Prefer::kAny;
    const index::SearchContext context{environment_.cancel, environment_.executor, prefer};
    index::WorkCounters work;
    if (heaps.size() == 1) {
      return searcher.search(*leaf.queries[0], {}, filter, context, heaps[0], work);
    }
    std::vector<index::TopK*> outs;
    for (auto& heap : heaps) outs.push_back(&heap);
    return searcher.search_batch(leaf.queries, {}, filter, context, outs, work);
  }

  Result<Ranking> rescored(const Query& node, const Nearest& nearest, Candidates candidates,
                           std::uint64_t limit) {
    QV_TRY(const std::size_t field, field_number(node.using_field));
    const auto& schema = environment_.config.fields[field];
    std::optional<PointId> excluded;
    QV_TRY(auto value, query_vector(nearest, field, excluded));
    QV_TRY(const auto query, prepare(schema, field, std::move(value)));
    Candidates scored;
    for (auto& candidate : candidates) {
      QV_TRY(environment_.cancel.check());
      if (excluded && candidate.id == *excluded) continue;
      const auto score =
          index::score_row(query, candidate.segment->data->fields[field], candidate.row);
      if (!score) continue;
      candidate.score = *score;
      scored.push_back(candidate);
    }
    sort_best_first(scored);
    if (scored.size() > limit) scored.resize(limit);
    return Ranking{std::move(scored), schema.metric};
  }

  // Merging.

  static std::vector<std::vector<Ranked>> ranked(const std::vector<Ranking>& lists) {
    std::vector<std::vector<Ranked>> out;
    for (const auto& list : lists) {
      auto& hits = out.emplace_back();
      for (const auto& candidate : list.candidates) {
        // Distances enter negated, so that larger is better in every list.
        const float shown = shown_score(list.metric, candidate.score);
        hits.push_back({candidate.id, is_distance(list.metric) ? -shown : shown});
      }
    }
    return out;
  }

  static Candidates union_of(const std::vector<Ranking>& lists) {
    Candidates all;
    for (const auto& list : lists) {
      all.insert(all.end(), list.candidates.begin(), list.candidates.end());
    }
    std::sort(all.begin(), all.end(),
              [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
    const auto same = [](const Candidate& a, const Candidate& b) { return a.id == b.id; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return all;
  }

  static Ranking fused(const std::vector<Ranking>& lists, const std::vector<Ranked>& order,
                       std::uint64_t limit) {
    std::unordered_map<PointId, const Candidate*> by_id;
    for (const auto& list : lists) {
      for (const auto& candidate : list.candidates) by_id.emplace(candidate.id, &candidate);
    }
    Ranking ranking;
    for (const auto& hit : order) {
      if (ranking.candidates.size() == limit) break;
      ranking.candidates.push_back(*by_id.at(hit.id));
      ranking.candidates.back().score = hit.score;
    }
    return ranking;
  }

  static std::unordered_map<const Segment*, Bitset> rows_by_segment(const Candidates& candidates) {
    std::unordered_map<const Segment*, Bitset> rows;
    for (const auto& candidate : candidates) {
      const auto entry = rows.try_emplace(candidate.segment, candidate.segment->n_rows()).first;
      entry->second.set(candidate.row);
    }
    return rows;
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
    return sampled(std::move(all), limit);
  }

  static Ranking sampled(Candidates all, std::uint64_t limit) {
    Candidates chosen;
    std::mt19937_64 random(std::random_device{}());
    std::sample(all.begin(), all.end(), std::back_inserter(chosen), limit, random);
    std::shuffle(chosen.begin(), chosen.end(), random);
    for (auto& candidate : chosen) candidate.score = 1.0F;
    return {std::move(chosen), Metric::kDot};
  }

  const SearchEnvironment& environment_;
};

bool is_listing(const QueryKind& kind) {
  return std::holds_alternative<NoQuery>(kind) || std::holds_alternative<OrderBy>(kind) ||
         std::holds_alternative<Sample>(kind);
}

}  // namespace

namespace {

/// Payloads and vectors may be long.
constexpr std::size_t kRecordsBetweenChecks = 16;

Result<std::vector<Record>> records_of(const SearchEnvironment& environment, const Query& query,
                                       const Ranking& ranking) {
  std::optional<std::vector<std::size_t>> fields;
  if (!query.with_vector.none()) {
    QV_TRY(fields, selected_fields(query.with_vector, environment.config.fields));
  }
  std::vector<Record> records;
  const bool listing = is_listing(query.kind);
  for (std::size_t i = query.offset; i < ranking.candidates.size(); ++i) {
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

/// A vector by value, and nothing that makes its rows other than those of the next.
bool is_plain(const Query& query) {
  const auto* nearest = std::get_if<Nearest>(&query.kind);
  return nearest != nullptr && std::holds_alternative<VectorValue>(nearest->vector) &&
         query.prefetch.empty() && !query.filter;
}

bool are_searched_alike(const Query& a, const Query& b) {
  return is_plain(a) && is_plain(b) && a.using_field == b.using_field && a.params == b.params;
}

}  // namespace

Result<std::vector<Record>> run_query(const SearchEnvironment& environment, const Query& query) {
  QueryRun run(environment);
  QV_TRY(const auto ranking, run.run(query, nullptr, saturating_add(query.limit, query.offset)));
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
    for (const auto& field : segment->data->fields) {
      if (field.schema.name != query.using_field) continue;
      if (field.schema.kind == FieldKind::kDense) bytes += field.dense().bytes.size();
      if (field.schema.kind == FieldKind::kSparse) bytes += field.sparse().indices.size() * 8;
      // Every token meets every query token: arithmetic, not bandwidth, decides.
      if (field.schema.kind == FieldKind::kMulti) bytes += field.multi().tokens.bytes.size() * 8;
    }
  }
  for (const auto& prefetch : query.prefetch) bytes += scan_bytes(snapshot, prefetch);
  return bytes;
}

}  // namespace quiver::engine
