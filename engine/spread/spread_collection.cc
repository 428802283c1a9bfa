#include "engine/spread/spread_collection.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/observe/memory_budget.h"
#include "engine/model/query_report.h"
#include "engine/model/query_vectors.h"
#include "engine/query/gather.h"
#include "engine/query/groups.h"
#include "engine/query/matrix.h"
#include "engine/query/report.h"
#include "engine/spread/merge.h"
#include "engine/spread/split.h"
#include "engine/write/prepared.h"
#include "engine/write/update_parts.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  std::ranges::move(from, std::back_inserter(to));
}

tl::unexpected<Error> no_keys() {
  return fail(Code::kFailedPrecondition,
              "the collection has no shard keys: a hash of the id picks the shard");
}

Result<> check_no_keys(const ShardSelector& shards) {
  if (!shards.keys) return {};
  return no_keys();
}

void add_index_counts(std::vector<IndexInfo> from, std::vector<IndexInfo>& to) {
  for (auto& info : from) {
    const auto same =
        std::ranges::find_if(to, [&](const auto& one) { return one.index.key == info.index.key; });
    if (same == to.end()) {
      to.push_back(std::move(info));
    } else {
      same->n_points += info.n_points;
    }
  }
}

void add_vector_indexes(std::vector<VectorIndexInfo> from, std::vector<VectorIndexInfo>& to) {
  for (auto& info : from) {
    const auto same = std::ranges::find_if(
        to, [&](const auto& one) { return one.field == info.field && one.index == info.index; });
    if (same == to.end()) {
      to.push_back(std::move(info));
    } else {
      same->n_vectors += info.n_vectors;
      same->n_bytes += info.n_bytes;
    }
  }
  std::ranges::sort(to, [](const auto& a, const auto& b) {
    return std::tie(a.field, a.index) < std::tie(b.field, b.index);
  });
}

void add_info(CollectionInfo part, CollectionInfo& all) {
  all.health = std::max(all.health, part.health);
  if (all.optimizer_error.empty()) all.optimizer_error = std::move(part.optimizer_error);
  if (all.memory_warning.empty()) all.memory_warning = std::move(part.memory_warning);
  all.n_points += part.n_points;
  all.n_indexed_vectors += part.n_indexed_vectors;
  all.n_segments += part.n_segments;
  all.n_queued_updates += part.n_queued_updates;
  all.n_damaged_segments += part.n_damaged_segments;
  all.n_damaged_indexes += part.n_damaged_indexes;
  all.opening_s = std::max(all.opening_s, part.opening_s);
  all.search_work += part.search_work;
  add_index_counts(std::move(part.indexes), all.indexes);
  add_vector_indexes(std::move(part.vector_indexes), all.vector_indexes);
}

/// All of `parts`, each with the number of its part as `shard`.
template <class T>
std::vector<T> numbered(std::vector<std::vector<T>> parts, std::uint32_t T::*shard) {
  std::vector<T> all;
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    for (auto& info : parts[i]) info.*shard = i;
    append(all, std::move(parts[i]));
  }
  return all;
}

/// Each part has one shard, which it calls 0.
void number_shard(OptimizationReport& report, std::uint32_t shard) {
  for (auto& queued : report.queued) queued.segment.shard = shard;
  for (auto& segment : report.idle) segment.shard = shard;
  for (auto* states : {&report.running, &report.completed}) {
    for (auto& state : *states) {
      state.shard = shard;
      for (auto& segment : state.segments) segment.shard = shard;
    }
  }
}

/// The records of several parts in the order of `ids`.
template <class T>
std::vector<T> in_order_of(const std::vector<PointId>& ids, std::vector<std::vector<T>> parts) {
  std::unordered_map<PointId, const T*> by_id;
  for (const auto& part : parts) {
    for (const auto& record : part) by_id.emplace(record.id, &record);
  }
  std::vector<T> records;
  for (const auto& id : ids) {
    const auto found = by_id.find(id);
    if (found != by_id.end()) records.push_back(*found->second);
  }
  return records;
}

}  // namespace

class SpreadCollection::Planned final : public PlannedQuery {
 public:
  Planned(const SpreadCollection& collection, Query query)
      : collection_(collection), query_(std::move(query)) {
    cost_.read_bytes = QueryCost::kMaxSmallBytes + 1;  // not on a thread of the network
  }

  [[nodiscard]] const Query& query() const override { return query_; }
  [[nodiscard]] const QueryCost& cost() const override { return cost_; }
  [[nodiscard]] Result<std::vector<Record>> run(const Cancel& cancel) const override {
    return collection_.query(query_, cancel);
  }

 private:
  const SpreadCollection collection_;
  const Query query_;
  QueryCost cost_;
};

template <class Ask>
auto SpreadCollection::ask_all(Ask ask) const
    -> Result<std::vector<typename std::invoke_result_t<Ask, Collection&>::value_type>> {
  using Answer = std::invoke_result_t<Ask, Collection&>;
  std::vector<std::optional<Answer>> answers(parts_.size());
  executor_.parallel_for(parts_.size(),
                         [&](std::size_t i) { answers[i].emplace(ask(*parts_[i])); });
  std::vector<typename Answer::value_type> values;
  for (auto& answer : answers) {
    if (!*answer) return fail(answer->error());
    values.push_back(*std::move(*answer));
  }
  return values;
}

// Reports.

std::shared_ptr<const CollectionConfig> SpreadCollection::config() const {
  auto config = std::make_shared<CollectionConfig>(*parts_.front()->config());
  config->shard_number = static_cast<std::uint32_t>(parts_.size());
  config->part.reset();
  return config;
}

template <class Ask>
auto SpreadCollection::reports(Ask ask) const
    -> std::vector<std::invoke_result_t<Ask, const Collection&>> {
  std::vector<std::invoke_result_t<Ask, const Collection&>> reports(parts_.size());
  executor_.parallel_for(parts_.size(), [&](std::size_t i) { reports[i] = ask(*parts_[i]); });
  return reports;
}

CollectionInfo SpreadCollection::info() const {
  CollectionInfo all;
  for (auto& info : reports([](const Collection& part) { return part.info(); })) {
    add_info(std::move(info), all);
  }
  all.config = *config();
  return all;
}

OptimizationReport SpreadCollection::optimizations() const {
  auto parts = reports([](const Collection& part) { return part.optimizations(); });
  OptimizationReport all;
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    number_shard(parts[i], i);
    append(all.queued, std::move(parts[i].queued));
    append(all.idle, std::move(parts[i].idle));
    append(all.running, std::move(parts[i].running));
    append(all.completed, std::move(parts[i].completed));
  }
  return all;
}

std::vector<SegmentIndexInfo> SpreadCollection::segment_indexes() const {
  return numbered(reports([](const Collection& part) { return part.segment_indexes(); }),
                  &SegmentIndexInfo::shard);
}

std::vector<SegmentAttributesInfo> SpreadCollection::segment_attributes() const {
  return numbered(reports([](const Collection& part) { return part.segment_attributes(); }),
                  &SegmentAttributesInfo::shard);
}

std::vector<ShardInfo> SpreadCollection::shards() const {
  return numbered(reports([](const Collection& part) { return part.shards(); }),
                  &ShardInfo::number);
}

// Changes.

Result<> SpreadCollection::update(std::vector<Operation> operations, const UpdateTerms& terms,
                                  std::function<void(Result<std::vector<UpdateResult>>)> done) {
  const auto config = this->config();
  for (const auto& operation : operations) {
    QV_TRY(check_no_keys(shards_of(operation)));
    QV_TRY(prepare(operation, *config));
  }
  const std::size_t n_operations = operations.size();
  auto pieces = split_by_part(std::move(operations), static_cast<std::uint32_t>(parts_.size()));
  // Nothing to change: the first part answers that it leads.
  const auto has_work = [](const auto& piece) { return !piece.operations.empty(); };
  const auto n_with_work = static_cast<std::size_t>(std::ranges::count_if(pieces, has_work));
  const bool is_idle = n_with_work == 0;
  auto join = std::make_shared<UpdateJoin>(is_idle ? 1 : n_with_work, n_operations, terms.ack,
                                           std::move(done));
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!has_work(pieces[i]) && !(is_idle && i == 0)) continue;
    auto numbers = std::move(pieces[i].numbers);
    const auto answer = [join, numbers](const Result<std::vector<UpdateResult>>& results) {
      if (!results) return join->part_done(numbers, fail(results.error()));
      std::vector<Seq> seqs;
      for (const auto& result : *results) seqs.push_back(result.operation_id);
      if (seqs.size() == numbers.size()) return join->part_done(numbers, std::move(seqs));
      join->part_done(numbers, fail(Code::kInternal, "a shard answered other operations"));
    };
    auto taken = parts_[i]->update(std::move(pieces[i].operations), terms, answer);
    if (!taken) join->part_done(numbers, fail(taken.error()));
  }
  return {};
}

Result<> SpreadCollection::create_index(const payload::FieldIndex& index, Ack ack) {
  for (const auto& part : parts_) QV_TRY(part->create_index(index, ack));
  return {};
}

Result<> SpreadCollection::create_shard_key(const ShardKeyCreation& /*creation*/) {
  return no_keys();
}
Result<> SpreadCollection::drop_shard_key(const ShardKey& /*key*/) { return no_keys(); }

Result<bool> SpreadCollection::drop_index(const std::string& key) {
  bool was_there = false;
  for (const auto& part : parts_) {
    QV_TRY(const bool dropped, part->drop_index(key));
    was_there = was_there || dropped;
  }
  return was_there;
}

// Queries.

std::shared_ptr<const PlannedQuery> SpreadCollection::plan(Query query) const {
  return std::make_shared<const Planned>(*this, std::move(query));
}

Result<> SpreadCollection::resolve_ids(Query& query, const ShardSelector& shards) const {
  for (auto& prefetch : query.prefetch) QV_TRY(resolve_ids(prefetch, shards));
  const auto vectors = vectors_of(query.kind);
  std::vector<PointId> ids;
  for (const QueryVector* vector : vectors) {
    if (const auto* id = std::get_if<PointId>(vector)) ids.push_back(*id);
  }
  if (ids.empty()) return {};
  QV_TRY(const auto records,
         retrieve({ids, payload::Selector::none(), {false, {query.using_field}}, shards}));
  std::unordered_map<PointId, const Record*> found;
  for (const auto& record : records) found.emplace(record.id, &record);
  for (QueryVector* vector : vectors) {
    const auto* named = std::get_if<PointId>(vector);
    if (named == nullptr) continue;
    const PointId id = *named;
    const auto record = found.find(id);
    if (record == found.end()) {
      return fail(Code::kNotFound, fmt::format("No point with id {} found", id.to_string()));
    }
    const auto& own = record->second->vectors;
    if (!own || own->empty()) {
      return fail(Code::kNotFound, fmt::format("Point with id {} has no vector `{}`",
                                               id.to_string(), query.using_field));
    }
    add_own_point(query.kind, id);
    *vector = own->front().value;
  }
  return {};
}

/// Each part is asked for its counts, so that terms are as rare as they are in all parts.
Result<> SpreadCollection::add_term_counts(Query& query, const CollectionConfig& config,
                                           const Cancel& cancel) const {
  for (const auto& [node, question] : counted_nodes(query, config)) {
    QV_TRY(auto counts, count_terms(question, cancel));
    node->params.counts = std::make_shared<const CorpusCounts>(std::move(counts));
  }
  return {};
}

Result<std::vector<FoundPoints>> SpreadCollection::gather(const std::vector<Query>& searches,
                                                          RowParts wanted,
                                                          const Cancel& cancel) const {
  const std::size_t n_parts = parts_.size();
  std::vector<std::optional<Result<FoundPoints>>> answers(searches.size() * n_parts);
  executor_.parallel_for(answers.size(), [&](std::size_t i) {
    answers[i].emplace(parts_[i % n_parts]->find(searches[i / n_parts], wanted, cancel));
  });
  GrowingMemory memory("rows of other nodes", 2);
  std::vector<FoundPoints> found;
  for (std::size_t search = 0; search < searches.size(); ++search) {
    std::vector<FoundPoints> of_parts;
    for (std::size_t part = 0; part < n_parts; ++part) {
      auto& answer = *answers[search * n_parts + part];
      if (!answer) return fail(answer.error());
      for (const auto& point : answer->points) QV_TRY(memory.add(size_bytes(point.row)));
      of_parts.push_back(*std::move(answer));
    }
    found.push_back(merge_found(std::move(of_parts), searches[search], searches[search].limit));
  }
  return found;
}

Result<std::vector<Record>> SpreadCollection::query(const Query& query,
                                                    const Cancel& cancel) const {
  QV_TRY(check_no_keys(query.shards));
  const Stopwatch clock;
  Query resolved = query;
  QV_TRY(resolve_ids(resolved, query.shards));
  const auto config = this->config();
  QV_TRY(add_term_counts(resolved, *config, cancel));
  QV_TRY(const auto found, gather(searches_of(resolved), parts_read(resolved), cancel));
  QV_TRY(const auto gathered, rank_found(found, resolved, *config, cancel));
  auto records = records_of({*gathered.rows, *config, cancel}, resolved, gathered.ranking);
  if (query.report != nullptr) {
    query.report->us = query.report->stage.us = clock.seconds() * 1e6;
    query.report->is_parallel = true;
    query.report->stage.kind = name_of(query.kind);
    query.report->stage.using_field = query.using_field;
    query.report->stage.limit = n_ranked(query);
    query.report->stage.n_hits = gathered.ranking.candidates.size();
  }
  return records;
}

Result<std::vector<std::vector<Record>>> SpreadCollection::query_batch(
    std::span<const Query> queries, const Cancel& cancel) const {
  std::vector<std::vector<Record>> answers;
  for (const auto& one : queries) {
    QV_TRY(answers.emplace_back(), query(one, cancel));
  }
  return answers;
}

Result<FoundPoints> SpreadCollection::find(const Query& search, RowParts wanted,
                                           const Cancel& cancel) const {
  QV_TRY(auto found, gather({search}, wanted, cancel));
  return std::move(found.front());
}

Result<std::vector<PointGroup>> SpreadCollection::groups(const GroupsQuery& query,
                                                         const Cancel& cancel) const {
  QV_TRY(check_no_keys(query.query.shards));
  GroupsQuery resolved = query;
  QV_TRY(resolve_ids(resolved.query, query.query.shards));
  const auto config = this->config();
  QV_TRY(add_term_counts(resolved.query, *config, cancel));
  const Snapshot nothing({});
  std::vector<std::shared_ptr<const Snapshot>> read;  // rankings point to them
  const auto rank = [&](const Query& one) -> Result<Ranking> {
    RowParts wanted = parts_read(one);
    wanted.payload = true;
    QV_TRY(const auto found, gather(searches_of(one), wanted, cancel));
    QV_TRY(auto gathered, rank_found(found, one, *config, cancel));
    read.push_back(std::move(gathered.rows));
    return std::move(gathered.ranking);
  };
  return find_groups({nothing, *config, cancel}, resolved, rank);
}

/// The vectors of a sample are queries, too. nullptr: they have no IDF.
Result<SpreadCollection::Counts> SpreadCollection::counts_for(const FoundPoints& sample,
                                                              const std::string& using_field,
                                                              const CollectionConfig& config,
                                                              const Cancel& cancel) const {
  QV_TRY(const std::size_t field, config.field(using_field));
  if (config.fields[field].modifier != SparseModifier::kIdf) return Counts();
  Recommend all;
  for (const auto& point : sample.points) {
    const bool has_vector =
        field < point.row.vectors.size() && is_present(point.row.vectors[field]);
    if (!has_vector) continue;
    all.positive.emplace_back(to_value(config.fields[field], point.row.vectors[field]));
  }
  Query query;
  query.kind = std::move(all);
  query.using_field = using_field;
  if (std::get<Recommend>(query.kind).positive.empty()) return Counts();
  QV_TRY(add_term_counts(query, config, cancel));
  return query.params.counts;
}

Result<DistanceMatrix> SpreadCollection::distance_matrix(const MatrixRequest& request,
                                                         const Cancel& cancel) const {
  QV_TRY(check_no_keys(request.shards));
  const auto config = this->config();
  QV_TRY(config->field(request.using_field));
  QV_TRY(const auto found, gather({sample_query(request)}, {false, true}, cancel));
  MatrixRequest of_sample = request;
  of_sample.filter.reset();
  QV_TRY(const auto rows, snapshot_of_found(found, *config));
  QV_TRY(of_sample.counts, counts_for(found.front(), request.using_field, *config, cancel));
  return compare_sample({rows, *config, cancel}, of_sample);
}

Result<CorpusCounts> SpreadCollection::count_terms(const Query& query, const Cancel& cancel) const {
  QV_TRY(const auto parts,
         ask_all([&](Collection& part) { return part.count_terms(query, cancel); }));
  CorpusCounts all;
  for (const auto& part : parts) add_counts(part, all);
  return all;
}

// Other reads.

Result<std::vector<Record>> SpreadCollection::retrieve(const RetrieveRequest& request) const {
  QV_TRY(check_no_keys(request.shards));
  const auto n_parts = static_cast<std::uint32_t>(parts_.size());
  std::vector<RetrieveRequest> requests(n_parts,
                                        {{}, request.with_payload, request.with_vector, {}});
  for (const auto& id : request.ids) requests[shard_of(id, n_parts)].ids.push_back(id);
  std::vector<std::optional<Result<std::vector<Record>>>> answers(n_parts);
  executor_.parallel_for(n_parts, [&](std::size_t i) {
    if (!requests[i].ids.empty() || i == 0) answers[i].emplace(parts_[i]->retrieve(requests[i]));
  });
  std::vector<std::vector<Record>> found;
  for (auto& answer : answers) {
    if (!answer) continue;
    if (!*answer) return fail(answer->error());
    found.push_back(*std::move(*answer));
  }
  return in_order_of(request.ids, std::move(found));
}

Result<std::vector<Explanation>> SpreadCollection::explain(const ExplainRequest& request,
                                                           const Cancel& cancel) const {
  QV_TRY(check_no_keys(request.shards));
  QV_TRY(auto parts, ask_all([&](Collection& part) { return part.explain(request, cancel); }));
  return in_order_of(request.ids, std::move(parts));
}

Result<ScrollPage> SpreadCollection::scroll(const ScrollRequest& request,
                                            const Cancel& cancel) const {
  QV_TRY(check_no_keys(request.shards));
  QV_TRY(auto pages, ask_all([&](Collection& part) { return part.scroll(request, cancel); }));
  return merge_pages(std::move(pages), request);
}

Result<std::uint64_t> SpreadCollection::count(const CountRequest& request,
                                              const Cancel& cancel) const {
  QV_TRY(check_no_keys(request.shards));
  QV_TRY(const auto counts, ask_all([&](Collection& part) { return part.count(request, cancel); }));
  std::uint64_t n = 0;
  for (const std::uint64_t of_part : counts) n += of_part;
  return n;
}

Result<std::vector<FacetHit>> SpreadCollection::facet(const FacetRequest& request,
                                                      const Cancel& cancel) const {
  QV_TRY(check_no_keys(request.shards));
  FacetRequest all = request;
  all.limit = kAll;
  QV_TRY(auto parts, ask_all([&](Collection& part) { return part.facet(all, cancel); }));
  return merge_facets(std::move(parts), request.limit);
}

Result<std::vector<Aggregate>> SpreadCollection::aggregate(const AggregateRequest& request,
                                                           const Cancel& cancel) const {
  QV_TRY(check_no_keys(request.shards));
  const AggregateRequest for_each = for_parts(request);
  QV_TRY(const auto parts,
         ask_all([&](Collection& part) { return part.aggregate(for_each, cancel); }));
  return merge_aggregates(parts, request);
}

}  // namespace quiver::engine
