#include "engine/collections/collection_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/collections/closed_collection.h"
#include "engine/collections/collection_reads.h"
#include "engine/query/cost.h"
#include "engine/query/explain.h"
#include "engine/query/facets.h"
#include "engine/query/groups.h"
#include "engine/query/matrix.h"
#include "engine/query/plan.h"
#include "engine/query/shared_pass.h"
#include "engine/segment/columns.h"
#include "engine/write/prepared.h"
#include "engine/write/tenant_quota.h"

namespace quiver::engine {
namespace {

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

/// Counts itself while it lives.
class Counted {
 public:
  explicit Counted(std::atomic<std::uint64_t>& n) : n_(n) { ++n_; }
  ~Counted() { --n_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<std::uint64_t>& n_;
};

/// nullptr if queries are not recorded, also because of an error.
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

}  // namespace

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

Expiry::Sets CollectionImpl::segment_sets() const {
  Expiry::Sets sets;
  sets.reserve(shards_.size());
  for (const auto& shard : shards_) sets.push_back(shard->snapshot());
  return sets;
}

Snapshot CollectionImpl::snapshot(const CollectionConfig& config) const {
  auto sets = segment_sets();
  if (config.ttl) sets = expiry_.hide(std::move(sets), config, context_.unix_s());
  return Snapshot(std::move(sets));
}

IndexPolicy CollectionImpl::index_policy(
    const std::shared_ptr<const CollectionConfig>& config) const {
  return engine::index_policy(context_.choose_index, config);
}

CollectionInfo CollectionImpl::info() const {
  const auto config = config_.load();
  auto info = collection_info(shards_, snapshot(*config), *config, index_policy(config));
  info.search_work = search_work_.load();
  info.opening_s = opening_s_;
  return info;
}

std::vector<ShardInfo> CollectionImpl::shards() const {
  return shard_infos(shards_, index_policy(config_.load()));
}

std::vector<SegmentIndexInfo> CollectionImpl::segment_indexes() const {
  return segment_index_infos(shards_);
}

OptimizationReport CollectionImpl::optimizations() const {
  const auto config = config_.load();
  return optimization_report(shards_, config->optimizer, index_policy(config));
}

Result<> CollectionImpl::update(std::vector<Operation> operations, Ack ack,
                                std::function<void(Result<std::vector<UpdateResult>>)> done) {
  QV_TRY(check_gates());
  const Counted counted(n_being_queued_);
  const auto config = config_.load();
  std::vector<PreparedOperation> prepared;
  prepared.reserve(operations.size());
  for (const auto& operation : operations) {
    QV_TRY(auto one, prepare(operation, *config));
    prepared.push_back(std::move(one));
  }
  const Request request{operations.size(), ack};
  if (config->tenant_quota) return take_turn(std::move(prepared), request, std::move(done));
  return submit(split_by_shard(std::move(prepared), shards_.size()), request, ack, std::move(done));
}

Result<> CollectionImpl::submit(std::vector<UpdatePart> parts, const Request& request, Ack ack,
                                UpdateJoin::Done done) {
  const auto n_waiting = std::max<std::size_t>(1, parts.size());
  auto join =
      std::make_shared<UpdateJoin>(n_waiting, request.n_operations, request.ack, std::move(done));
  if (parts.empty()) {  // nothing to change; answered from another thread all the same
    context_.lanes->post(Priority::kHigh, [join] { join->part_done({}, std::vector<Seq>()); });
    return {};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto submitted = guarded([&] {
      auto answer = [join, numbers = parts[i].numbers](const Result<std::vector<Seq>>& seqs) {
        join->part_done(numbers, seqs);
      };
      return shards_[parts[i].shard]->submit(
          {std::move(parts[i].operations), ack, std::move(answer)});
    });
    if (submitted) continue;
    if (i == 0) return submitted;  // nothing was queued: the caller may try again
    for (; i < parts.size(); ++i) join->part_done(parts[i].numbers, fail(submitted.error()));
  }
  return {};
}

/// Tenants are counted in what is visible: the update before is visible when the next is checked.
Result<> CollectionImpl::take_turn(std::vector<PreparedOperation> operations,
                                   const Request& request, UpdateJoin::Done done) {
  std::uint64_t n_bytes = 0;
  for (const auto& operation : operations) n_bytes += size_bytes(operation);
  auto parts = std::make_shared<std::vector<UpdatePart>>(
      split_by_shard(std::move(operations), shards_.size()));
  return turns_.take(n_bytes, [self = shared_from_this(), parts, request,
                               done = std::move(done)](const std::function<void()>& over) {
    const auto finish = [self, done, over](Result<std::vector<UpdateResult>> result) {
      over();
      run_logged("answering an update", [&] { done(std::move(result)); });
    };
    auto submitted = guarded([&]() -> Result<> {
      QV_TRY(check_tenants(self->segment_sets(), *self->config_.load(), *parts));
      return self->submit(std::move(*parts), request, Ack::kVisible, finish);
    });
    if (!submitted) finish(fail(submitted.error()));
  });
}

/// Returns when all updates that were taken without a turn are visible.
Result<> CollectionImpl::wait_for_earlier_updates() {
  while (n_being_queued_ != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto latch = std::make_shared<Latch>(shards_.size());
  for (const auto& shard : shards_) {
    ShardRequest nothing;
    nothing.done = [latch](const auto& /*seqs*/) { latch->arrive({}); };
    if (!shard->submit(std::move(nothing))) latch->arrive({});
  }
  return latch->wait();
}

/// A query over the snapshot and configuration of the moment it was planned.
class CollectionImpl::Planned final : public PlannedQuery {
 public:
  Planned(std::shared_ptr<const CollectionImpl> collection, Query query)
      : collection_(std::move(collection)),
        query_(std::move(query)),
        config_(collection_->config()),
        snapshot_(collection_->snapshot(*config_)),
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
  const std::shared_ptr<const CollectionConfig> config_;  ///< first: see `snapshot`
  const Snapshot snapshot_;
  const QueryCost cost_;
  const Plan plan_;  ///< borrows `query_`
};

std::shared_ptr<const PlannedQuery> CollectionImpl::plan(Query query) const {
  return std::make_shared<const Planned>(shared_from_this(), std::move(query));
}

Result<std::vector<Record>> CollectionImpl::query(const Query& query, const Cancel& cancel) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  return run(Plan(query), estimate_cost(now, query), now, config, cancel);
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
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  index::WorkCounters work;
  auto answers = run_queries(
      {now, *config, cancel, &compute_, index_policy(config), &work, context_.queries.get()},
      queries);
  search_work_.add(work);
  return checked(now, std::move(answers));
}

Result<> CollectionImpl::bulk_load(const BulkChunk& chunk) {
  QV_TRY(check_gates());
  if (config_.load()->tenant_quota) {
    return fail(Code::kFailedPrecondition,
                "bulk loads count no tenants: remove the limit of tenants first");
  }
  return bulk_.load(chunk);
}

Result<std::string> CollectionImpl::bulk_cursor() const { return shards_.front()->bulk().cursor(); }

Result<std::vector<Record>> CollectionImpl::retrieve(const RetrieveRequest& request) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  return checked(now, engine::retrieve(now, *config, request));
}

Result<std::vector<Explanation>> CollectionImpl::explain(const ExplainRequest& request,
                                                         const Cancel& cancel) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  return checked(now, engine::explain({now, *config, cancel, &compute_}, request));
}

Result<ScrollPage> CollectionImpl::scroll(const ScrollRequest& request,
                                          const Cancel& cancel) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  return checked(now, engine::scroll(now, *config, request, cancel));
}

Result<std::uint64_t> CollectionImpl::count(const std::optional<payload::Filter>& filter,
                                            const Cancel& cancel) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  return checked(now, engine::count(now, *config, filter, cancel));
}

Result<std::vector<PointGroup>> CollectionImpl::groups(const GroupsQuery& query,
                                                       const Cancel& cancel) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  Executor* executor = estimate_cost(now, query.query).is_parallel() ? &compute_ : nullptr;
  index::WorkCounters work;
  auto groups = find_groups(
      {now, *config, cancel, executor, index_policy(config), &work, context_.queries.get()}, query);
  search_work_.add(work);
  return checked(now, std::move(groups));
}

Result<std::vector<FacetHit>> CollectionImpl::facet(const FacetRequest& request,
                                                    const Cancel& cancel) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  return checked(now, count_facets(now, *config, request, cancel));
}

Result<DistanceMatrix> CollectionImpl::distance_matrix(const MatrixRequest& request,
                                                       const Cancel& cancel) const {
  const auto config = config_.load();
  const Snapshot now = snapshot(*config);
  return checked(now, compare_sample({now, *config, cancel, &compute_}, request));
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
  bool limits_tenants = false;  // from now on
  {
    QV_TRY(check_gates());
    MutexLock lock(change_mutex_);
    auto next = std::make_shared<CollectionConfig>(*config_.load());
    QV_TRY(change(*next));
    QV_TRY(check_ttl(*next));
    QV_TRY(check_tenant_quota(*next));
    next->strict_mode = strict_mode_of(next->client_settings, next->fields);
    next->memory = memory_plan_of(next->client_settings, next->fields, next->indexes);
    const bool is_new = *next != *config_.load();
    limits_tenants = next->tenant_quota && !config_.load()->tenant_quota;
    const bool adds_fields = next->fields.size() > config_.load()->fields.size();
    if (is_new) QV_TRY(save_config_(*next));
    if (is_new && !adds_fields) config_.store(next);
    // An unchanged configuration may not be in force in all shards yet: wait for it, too.
    for (const auto& shard : shards_) {
      shard->set_config(next, [latch](Result<> result) {
        if (!result) {
          run_logged("changing a collection",
                     [&] { log_error("changing a collection: {}", result.error().to_string()); });
        }
        latch->arrive(std::move(result));
      });
    }
    if (adds_fields) {
      for (const auto& shard : shards_) QV_TRY(shard->check_fields(*next));
      config_.store(next);
    }
  }
  if (ack == Ack::kVisible) QV_TRY(latch->wait());
  return limits_tenants ? wait_for_earlier_updates() : Result<>();
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

void CollectionImpl::delete_expired() {
  const auto config = config_.load();
  if (!config->ttl || *deleting_expired_) return;
  const std::int64_t now_s = context_.unix_s();
  auto deletion = expiry_.deletion(segment_sets(), *config, now_s);
  if (!deletion) return;
  *deleting_expired_ = true;
  const auto done = [deleting = deleting_expired_](const auto&) { *deleting = false; };
  // What fails is tried again at the next tick.
  if (!update({*std::move(deletion)}, Ack::kDurable, done)) *deleting_expired_ = false;
}

Result<std::vector<SnapshotShard>> CollectionImpl::link_files(const std::string& target,
                                                              std::optional<std::uint32_t> only) {
  return bulk_.between_loads([&]() -> Result<std::vector<SnapshotShard>> {
    std::vector<SnapshotShard> linked;
    for (std::uint32_t i = 0; i < shards_.size(); ++i) {
      if (only && *only != i) continue;
      QV_TRY(const Seq seq, shards_[i]->link_files(shard_path(target, i)));
      linked.push_back({i, seq});
    }
    return linked;
  });
}

void CollectionImpl::tick() {
  for (const auto& shard : shards_) shard->tick();
  delete_expired();
  bulk_.retry(shared_from_this());
  if (context_.queries == nullptr || !context_.queries->is_due(QuerySamples::Clock::now())) return;
  context_.background->post(Priority::kLow, [queries = context_.queries] { queries->save(); });
}

Result<> CollectionImpl::close() {
  return bulk_.between_loads([this] { return close_shards(); });
}

Result<> CollectionImpl::close_shards() {
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
