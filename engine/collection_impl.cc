#include "engine/collection_impl.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/indexing/segment_info.h"
#include "engine/indexing/vector_index_info.h"
#include "engine/query/cost.h"
#include "engine/query/explain.h"
#include "engine/query/plan.h"
#include "engine/query/shared_pass.h"
#include "engine/repair.h"
#include "engine/segment/columns.h"
#include "engine/segment/ordering.h"
#include "engine/segment/segment_rows.h"

namespace quiver::engine {
namespace {

/// Waits for the shards of one request and answers once.
class Join {
 public:
  using Done = std::function<void(Result<std::vector<UpdateResult>>)>;

  Join(std::size_t n_shards, std::size_t n_operations, Ack ack, Done done)
      : n_open_(n_shards), done_(std::move(done)) {
    results_.resize(n_operations);
    for (auto& result : results_) result.completed = ack == Ack::kVisible;
  }

  /// `numbers`: which operations of the request the shard was given.
  void shard_done(const std::vector<std::size_t>& numbers, const Result<std::vector<Seq>>& seqs)
      QV_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (!seqs && !error_) error_ = seqs.error();
      for (std::size_t i = 0; seqs && i < seqs->size(); ++i) {
        auto& id = results_[numbers[i]].operation_id;
        id = std::max(id, (*seqs)[i]);
      }
      if (--n_open_ != 0) return;
    }
    finish();
  }

 private:
  /// Nobody else touches this any more.
  void finish() QV_NO_THREAD_SAFETY_ANALYSIS {
    if (error_) {
      done_(fail(*error_));
    } else {
      done_(std::move(results_));
    }
  }

  Mutex mutex_;
  std::size_t n_open_ QV_GUARDED_BY(mutex_);
  std::optional<Error> error_ QV_GUARDED_BY(mutex_);
  std::vector<UpdateResult> results_ QV_GUARDED_BY(mutex_);
  Done done_;
};

/// What one shard gets of a request.
struct Part {
  std::size_t shard = 0;
  std::vector<std::size_t> numbers;
  std::vector<PreparedOperation> operations;
};

std::vector<Part> split(std::vector<PreparedOperation> operations, std::size_t n_shards) {
  std::vector<Part> parts;
  for (std::uint32_t shard = 0; shard < n_shards; ++shard) {
    Part part{shard, {}, {}};
    for (std::size_t i = 0; i < operations.size(); ++i) {
      auto piece = n_shards == 1
                       ? std::move(operations[i])
                       : part_for_shard(operations[i], shard, static_cast<std::uint32_t>(n_shards));
      if (is_empty(piece)) continue;
      part.numbers.push_back(i);
      part.operations.push_back(std::move(piece));
    }
    if (!part.operations.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

/// Blocks until the last of a known number of calls, keeping the first error.
class Latch {
 public:
  explicit Latch(std::size_t n) : n_open_(n) {}
  void arrive(Result<> result) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!result && result_) result_ = std::move(result);
    if (--n_open_ == 0) all_.notify_all();
  }
  Result<> wait() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (n_open_ != 0) all_.wait(mutex_);
    return result_;
  }

 private:
  Mutex mutex_;
  CondVar all_;
  std::size_t n_open_ QV_GUARDED_BY(mutex_);
  Result<> result_ QV_GUARDED_BY(mutex_);
};

std::uint64_t n_indexed_points(const Snapshot& snapshot, const payload::FieldIndex& index) {
  std::uint64_t n = 0;
  for (const Segment* segment : snapshot.segments()) {
    const auto column = segment->data->columns.find(index.key);
    if (column == segment->data->columns.end()) continue;
    n += column->second.count_rows_with_values(segment->live());
  }
  return n;
}

std::uint64_t n_indexed_vectors(const SegmentData& data, const IndexPolicy& policy) {
  std::uint64_t n = 0;
  for (std::size_t field = 0; data.sealed && field < data.fields.size(); ++field) {
    if (!lacks_index(data, field, policy)) n += data.fields[field].n_present;
  }
  return n;
}

/// True if the optimizer has work with the segment before it.
bool is_queued(const SegmentData& data, const OptimizerConfig& optimizer,
               const IndexPolicy& policy) {
  if (data.sealed) return !missing_indexes(data, policy).empty();
  return data.n_rows >= optimizer.seal_rows || data.data_bytes() >= optimizer.seal_bytes;
}

Health health_of(const std::string& error, bool is_busy) {
  if (!error.empty()) return Health::kRed;
  return is_busy ? Health::kYellow : Health::kGreen;
}

/// True if running work reads the segment.
bool is_worked_on(const WorkSegment& segment, const std::vector<OptimizationState>& running) {
  const auto is_same = [&](const WorkSegment& other) {
    return other.shard == segment.shard && other.id == segment.id;
  };
  return std::any_of(running.begin(), running.end(), [&](const OptimizationState& work) {
    return std::any_of(work.segments.begin(), work.segments.end(), is_same);
  });
}

std::string shard_path(const std::string& collection, std::uint32_t shard) {
  return fmt::format("{}/shard-{}", collection, shard);
}

/// nullptr if queries are not remembered, be it for an error.
std::shared_ptr<QuerySamples> open_samples(const std::string& path, const CollectionConfig& config,
                                           const ShardContext& context) {
  const bool has_multi =
      std::any_of(config.fields.begin(), config.fields.end(),
                  [](const FieldSchema& field) { return field.kind == FieldKind::kMulti; });
  if (!has_multi) return nullptr;
  auto directory = context.open_directory(path);
  if (directory) {
    return QuerySamples::open(*std::move(directory), config.fields, context.record_queries);
  }
  log_error("queries are not recorded: {}", directory.error().message());
  return nullptr;
}

Result<PredicatePtr> compile(const std::optional<payload::Filter>& filter,
                             const CollectionConfig& config) {
  if (!filter) return PredicatePtr();
  return payload::compile(*filter, config.indexes);
}

Result<std::optional<std::vector<std::size_t>>> wanted_fields(const VectorSelector& selector,
                                                              const CollectionConfig& config) {
  if (selector.none()) return std::optional<std::vector<std::size_t>>();
  QV_TRY(auto fields, selected_fields(selector, config));
  return std::optional(std::move(fields));
}

}  // namespace

Result<> CollectionImpl::check(const std::string& path, const CollectionConfig& config,
                               const ShardContext& context, storage::Opening opening) {
  for (std::uint32_t i = 0; i < config.shard_number; ++i) {
    QV_TRY(Shard::check(shard_path(path, i), context, opening));
  }
  return {};
}

Result<> CollectionImpl::check_logs(const std::string& path, const CollectionConfig& config,
                                    const ShardContext& context) {
  for (std::uint32_t i = 0; i < config.shard_number; ++i) {
    QV_TRY(Shard::check_logs(shard_path(path, i), context));
  }
  return {};
}

Result<std::vector<ShardFindings>> CollectionImpl::read_all(const std::string& path,
                                                            const CollectionConfig& config,
                                                            const ShardContext& context) {
  std::vector<ShardFindings> shards;
  for (std::uint32_t i = 0; i < config.shard_number; ++i) {
    QV_TRY(auto findings, check_shard(shard_path(path, i), config, context));
    shards.push_back(std::move(findings));
  }
  return shards;
}

Result<std::vector<std::optional<ShardRepair>>> CollectionImpl::repair(
    const std::string& path, const CollectionConfig& config, const ShardContext& context) {
  std::vector<std::optional<ShardRepair>> shards;
  for (std::uint32_t i = 0; i < config.shard_number; ++i) {
    const std::string shard = shard_path(path, i);
    QV_TRY(const auto findings, check_shard(shard, config, context));
    auto& repaired = shards.emplace_back();
    if (findings.rows.empty()) continue;
    QV_TRY(repaired, repair_shard(shard, config, context));
  }
  return shards;
}

Result<std::shared_ptr<CollectionImpl>> CollectionImpl::open(
    const std::string& path, std::shared_ptr<const CollectionConfig> config,
    const ShardContext& context, storage::Opening opening, Executor& compute,
    SaveConfig save_config) {
  for (std::uint32_t i = 0; opening == storage::Opening::kMustExist && i < config->shard_number;
       ++i) {
    QV_TRY(Shard::check_exists(shard_path(path, i), context));
  }
  const Stopwatch clock;
  ShardContext own = context;
  own.queries = open_samples(path, *config, context);
  std::shared_ptr<CollectionImpl> collection(
      new CollectionImpl(config, own, compute, std::move(save_config)));
  for (std::uint32_t i = 0; i < config->shard_number; ++i) {
    const Shard* first = i == 0 ? nullptr : collection->shards_.front().get();
    QV_TRY(auto shard, Shard::open(shard_path(path, i), config, own, first));
    collection->shards_.push_back(std::move(shard));
  }
  collection->opening_s_ = clock.seconds();
  return collection;
}

template <class T>
Result<T> CollectionImpl::checked(const Snapshot& read, Result<T> answer) {
  QV_TRY(read.check());
  return answer;
}

Snapshot CollectionImpl::snapshot() const {
  std::vector<std::shared_ptr<const SegmentSet>> sets;
  sets.reserve(shards_.size());
  for (const auto& shard : shards_) sets.push_back(shard->snapshot());
  return Snapshot(std::move(sets));
}

IndexPolicy CollectionImpl::index_policy(
    const std::shared_ptr<const CollectionConfig>& config) const {
  return engine::index_policy(context_.choose_index, config);
}

CollectionInfo CollectionImpl::info() const {
  CollectionInfo info;
  const auto config = config_.load();
  info.config = *config;
  const Snapshot now = snapshot();
  bool optimizing = false;
  for (const auto& shard : shards_) {
    const ShardStatus status = shard->status();
    info.n_segments += status.n_segments;
    info.n_queued_updates += shard->n_queued();
    info.n_damaged_segments += status.n_damaged;
    info.n_damaged_indexes += status.n_damaged_indexes;
    optimizing = optimizing || status.optimizing;
    if (info.optimizer_error.empty()) info.optimizer_error = status.error;
  }
  const auto policy = index_policy(config);
  for (const Segment* segment : now.segments()) {
    info.n_points += segment->n_live();
    info.n_indexed_vectors += n_indexed_vectors(*segment->data, policy);
  }
  for (const auto& index : info.config.indexes) {
    info.indexes.push_back({index, n_indexed_points(now, index)});
  }
  info.vector_indexes = vector_index_info(now);
  info.search_work = search_work_.load();
  info.opening_s = opening_s_;
  info.health = health_of(info.optimizer_error, optimizing || info.n_queued_updates != 0);
  return info;
}

std::vector<ShardInfo> CollectionImpl::shards() const {
  std::vector<ShardInfo> infos;
  const auto policy = index_policy(config_.load());
  for (const auto& shard : shards_) {
    const ShardStatus status = shard->status();
    ShardInfo info;
    info.n_queued_updates = shard->n_queued();
    info.health = health_of(status.error, status.optimizing || info.n_queued_updates != 0);
    info.optimizer_error = status.error;
    info.work = shard->work();
    const auto now = shard->snapshot();
    info.last_seq = now->seq;
    info.segments = segment_infos(*now, policy);
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<SegmentIndexInfo> CollectionImpl::segment_indexes() const {
  std::vector<SegmentIndexInfo> infos;
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
    add_segment_indexes(*shards_[shard]->snapshot(), shard, infos);
  }
  return infos;
}

OptimizationReport CollectionImpl::optimizations() const {
  OptimizationReport report;
  const auto config = config_.load();
  const auto policy = index_policy(config);
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
    shards_[shard]->report(shard, report);
    const auto now = shards_[shard]->snapshot();  // outlives the loop
    for (const Segment& segment : now->segments) {
      const SegmentData& data = *segment.data;
      const WorkSegment about{shard, data.id, segment.n_live()};
      if (is_worked_on(about, report.running)) continue;
      if (is_queued(data, config->optimizer, policy)) {
        report.queued.push_back({data.sealed ? JobKind::kIndex : JobKind::kSeal, about});
      } else {
        report.idle.push_back(about);
      }
    }
  }
  std::stable_sort(report.completed.begin(), report.completed.end(),
                   [](const auto& a, const auto& b) { return a.finished_at > b.finished_at; });
  return report;
}

Result<> CollectionImpl::update(std::vector<Operation> operations, Ack ack,
                                std::function<void(Result<std::vector<UpdateResult>>)> done) {
  QV_TRY(check_gates());
  const auto config = config_.load();
  std::vector<PreparedOperation> prepared;
  prepared.reserve(operations.size());
  for (const auto& operation : operations) {
    QV_TRY(auto one, prepare(operation, *config));
    prepared.push_back(std::move(one));
  }
  auto parts = split(std::move(prepared), shards_.size());
  const auto n_waiting = std::max<std::size_t>(1, parts.size());
  auto join = std::make_shared<Join>(n_waiting, operations.size(), ack, std::move(done));
  if (parts.empty()) {  // nothing to change; answered from another thread all the same
    context_.lanes->post(Priority::kHigh, [join] { join->shard_done({}, std::vector<Seq>()); });
    return {};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto submitted = guarded([&] {
      auto answer = [join, numbers = parts[i].numbers](const Result<std::vector<Seq>>& seqs) {
        join->shard_done(numbers, seqs);
      };
      return shards_[parts[i].shard]->submit(
          {std::move(parts[i].operations), ack, std::move(answer)});
    });
    if (submitted) continue;
    if (i == 0) return submitted;  // nothing was queued: the caller may try again
    for (; i < parts.size(); ++i) join->shard_done(parts[i].numbers, fail(submitted.error()));
  }
  return {};
}

/// A query over the snapshot and configuration of the moment it was planned.
class CollectionImpl::Planned final : public PlannedQuery {
 public:
  Planned(std::shared_ptr<const CollectionImpl> collection, Query query)
      : collection_(std::move(collection)),
        query_(std::move(query)),
        snapshot_(collection_->snapshot()),
        config_(collection_->config()),
        cost_(estimate_cost(snapshot_, query_)),
        plan_(query_) {}

  [[nodiscard]] const Query& query() const override { return query_; }
  [[nodiscard]] const QueryCost& cost() const override { return cost_; }
  [[nodiscard]] Result<std::vector<Record>> run(const Cancel& cancel) const override {
    return collection_->run(plan_, cost_, snapshot_, config_, cancel);
  }

 private:
  const std::shared_ptr<const CollectionImpl> collection_;
  const Query query_;
  const Snapshot snapshot_;
  const std::shared_ptr<const CollectionConfig> config_;
  const QueryCost cost_;
  const Plan plan_;  ///< borrows `query_`
};

std::shared_ptr<const PlannedQuery> CollectionImpl::plan(Query query) const {
  return std::make_shared<const Planned>(shared_from_this(), std::move(query));
}

Result<std::vector<Record>> CollectionImpl::query(const Query& query, const Cancel& cancel) const {
  const Snapshot now = snapshot();
  return run(Plan(query), estimate_cost(now, query), now, config_.load(), cancel);
}

Result<std::vector<Record>> CollectionImpl::run(
    const Plan& plan, const QueryCost& cost, const Snapshot& now,
    const std::shared_ptr<const CollectionConfig>& config, const Cancel& cancel) const {
  Executor* executor = cost.is_parallel() ? &compute_ : nullptr;
  index::WorkCounters work;
  auto records = plan.run(
      {now, *config, cancel, executor, index_policy(config), &work, context_.queries.get()});
  search_work_.add(work);
  return checked(now, std::move(records));
}

Result<std::vector<std::vector<Record>>> CollectionImpl::query_batch(std::span<const Query> queries,
                                                                     const Cancel& cancel) const {
  const Snapshot now = snapshot();
  const auto config = config_.load();
  index::WorkCounters work;
  auto answers = run_queries(
      {now, *config, cancel, &compute_, index_policy(config), &work, context_.queries.get()},
      queries);
  search_work_.add(work);
  return checked(now, std::move(answers));
}

Result<std::vector<Record>> CollectionImpl::retrieve(const RetrieveRequest& request) const {
  const Snapshot now = snapshot();
  return checked(now, retrieve_from(now, request));
}

Result<std::vector<Record>> CollectionImpl::retrieve_from(const Snapshot& now,
                                                          const RetrieveRequest& request) const {
  const auto config = config_.load();
  QV_TRY(const auto fields, wanted_fields(request.with_vector, *config));
  std::vector<Record> records;
  for (const auto& id : request.ids) {
    const auto place = now.find(id);
    if (!place) continue;
    records.push_back(make_record(*place->segment, place->row, request.with_payload,
                                  fields ? &*fields : nullptr));
  }
  return records;
}

Result<std::vector<Explanation>> CollectionImpl::explain(const ExplainRequest& request,
                                                         const Cancel& cancel) const {
  const Snapshot now = snapshot();
  const auto config = config_.load();
  return checked(now, engine::explain({now, *config, cancel, &compute_}, request));
}

Result<ScrollPage> CollectionImpl::scroll(const ScrollRequest& request,
                                          const Cancel& cancel) const {
  const Snapshot now = snapshot();
  return checked(now, scroll_from(now, request, cancel));
}

Result<ScrollPage> CollectionImpl::scroll_from(const Snapshot& now, const ScrollRequest& request,
                                               const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const auto fields, wanted_fields(request.with_vector, *config));
  QV_TRY(const auto predicate, compile(request.filter, *config));
  ScrollPage page;
  if (request.order_by) {
    QV_TRY(
        scroll_by_value(request, now, predicate.get(), fields ? &*fields : nullptr, cancel, page));
    return page;
  }
  const std::uint64_t n = request.limit == UINT64_MAX ? request.limit : request.limit + 1;
  QV_TRY(auto places, first_points_by_id(now, request.offset, n, predicate.get(), cancel));
  if (places.size() > request.limit) {
    page.next = places.back().segment->data->ids[places.back().row];
    places.pop_back();
  }
  for (const auto& place : places) {
    page.points.push_back(
        make_record(*place.segment, place.row, request.with_payload, fields ? &*fields : nullptr));
  }
  return page;
}

Result<> CollectionImpl::scroll_by_value(const ScrollRequest& request, const Snapshot& now,
                                         const payload::Predicate* predicate,
                                         const std::vector<std::size_t>* fields,
                                         const Cancel& cancel, ScrollPage& page) const {
  const auto rows_of = [&](const Segment& segment) {
    return matching_rows(segment, predicate, cancel);
  };
  QV_TRY(const auto points,
         first_points_in_order(now, *config_.load(), *request.order_by, request.limit, rows_of));
  for (const auto& point : points) {
    page.points.push_back(make_record(*point.segment, point.row, request.with_payload, fields));
    page.points.back().order_value = point.value;
  }
  return {};
}

Result<std::uint64_t> CollectionImpl::count(const std::optional<payload::Filter>& filter,
                                            const Cancel& cancel) const {
  const Snapshot now = snapshot();
  return checked(now, count_from(now, filter, cancel));
}

Result<std::uint64_t> CollectionImpl::count_from(const Snapshot& now,
                                                 const std::optional<payload::Filter>& filter,
                                                 const Cancel& cancel) const {
  QV_TRY(const auto predicate, compile(filter, *config_.load()));
  if (predicate == nullptr || predicate->always_true()) return now.n_live();
  std::uint64_t n = 0;
  for (const Segment* segment : now.segments()) {
    QV_TRY(const Bitset rows, matching_rows(*segment, predicate.get(), cancel));
    n += rows.count();
  }
  return n;
}

bool CollectionImpl::shares_passes(const Query& query) const {
  return estimate_cost(snapshot(), query).can_share_pass;
}

bool CollectionImpl::is_small(const Query& query) const {
  return estimate_cost(snapshot(), query).is_small();
}

Result<> CollectionImpl::create_index(const payload::FieldIndex& index, Ack ack) {
  QV_TRY(payload::JsonPath::parse(index.key));
  const auto replace = [&](CollectionConfig& config) -> Result<> {
    std::erase_if(config.indexes, [&](const auto& other) { return other.key == index.key; });
    config.indexes.push_back(index);
    std::sort(config.indexes.begin(), config.indexes.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    return {};
  };
  return change_config(replace, ack);
}

Result<bool> CollectionImpl::drop_index(const std::string& key) {
  if (find_index(config_.load()->indexes, key) == nullptr) return false;
  QV_TRY(change_config([&](CollectionConfig& config) -> Result<> {
    std::erase_if(config.indexes, [&](const auto& other) { return other.key == key; });
    return {};
  }));
  return true;
}

Result<> CollectionImpl::change_config(const std::function<Result<>(CollectionConfig&)>& change,
                                       Ack ack) {
  auto latch = std::make_shared<Latch>(shards_.size());
  {
    QV_TRY(check_gates());
    MutexLock lock(change_mutex_);
    auto next = std::make_shared<CollectionConfig>(*config_.load());
    QV_TRY(change(*next));
    const bool is_new = *next != *config_.load();
    if (is_new) QV_TRY(save_config_(*next));
    if (is_new) config_.store(next);
    // What is no change may be one that is not in force everywhere yet: it is waited for, too.
    for (const auto& shard : shards_) {
      shard->set_config(next, [latch](Result<> result) {
        if (!result) {
          run_logged("changing a collection",
                     [&] { log_error("changing a collection: {}", result.error().to_string()); });
        }
        latch->arrive(std::move(result));
      });
    }
  }
  return ack == Ack::kVisible ? latch->wait() : Result<>();
}

Result<> CollectionImpl::check_place() {
  for (const auto& shard : shards_) {
    if (auto fine = shard->check_place(); !fine) {
      place_.close(fine.error());
      return fine;
    }
  }
  place_.open();
  return {};
}

Result<> CollectionImpl::check_gates() const {
  QV_TRY(context_.write_gate->check());
  return place_.check();
}

void CollectionImpl::tick() {
  for (const auto& shard : shards_) shard->tick();
  retry_bulk();
  if (context_.queries == nullptr || !context_.queries->is_due(QuerySamples::Clock::now())) return;
  context_.background->post(Priority::kLow, [queries = context_.queries] { queries->save(); });
}

Result<> CollectionImpl::close() {
  MutexLock bulk(bulk_mutex_);
  Result<> result;
  for (const auto& shard : shards_) {
    auto closed = shard->close();
    if (!closed && closed.error().code() == Code::kDeadlineExceeded) return closed;
    if (!closed) result = std::move(closed);
  }
  if (context_.queries != nullptr) context_.queries->close();
  return result;
}

}  // namespace quiver::engine
