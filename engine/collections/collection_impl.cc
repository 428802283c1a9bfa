#include "engine/collections/collection_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/io/file_tree.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "base/observe/memory_budget.h"
#include "engine/collections/closed_collection.h"
#include "engine/collections/collection_reads.h"
#include "engine/collections/sharding/repeated_ids.h"
#include "engine/collections/sharding/shard_files.h"
#include "engine/query/aggregates.h"
#include "engine/query/cost.h"
#include "engine/query/explain.h"
#include "engine/query/facets.h"
#include "engine/query/fusion_weights.h"
#include "engine/query/gather.h"
#include "engine/query/groups.h"
#include "engine/query/joins/join.h"
#include "engine/query/joins/projection.h"
#include "engine/query/matrix.h"
#include "engine/query/plan.h"
#include "engine/query/recall.h"
#include "engine/query/scorer/proposals.h"
#include "engine/query/shared_pass.h"
#include "engine/query/stages/segment_search.h"
#include "engine/query/sums/feature_sums.h"
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
  auto directory = context.open_directory(path);
  if (directory) {
    return QuerySamples::open(*std::move(directory), config.fields, context.record_queries);
  }
  log_error("queries are not recorded: {}", directory.error().message());
  return nullptr;
}

/// `done`, called after the other nodes have applied what the update changed.
UpdateJoin::Done visible_everywhere(Replication& replication, const std::string& cluster_id,
                                    UpdateJoin::Done done) {
  return
      [&replication, cluster_id, done = std::move(done)](Result<std::vector<UpdateResult>> result) {
        if (!result) return done(std::move(result));
        auto answer = [done, result = std::move(result)] { done(result); };
        replication.when_replicas_applied(cluster_id, std::move(answer));
      };
}

/// A shard of a replicated collection, as the cluster sees it.
class ReplicaOfShard final : public Replica {
 public:
  /// `collection` keeps what the shard uses.
  ReplicaOfShard(std::shared_ptr<const Collection> collection, std::shared_ptr<Shard> shard)
      : collection_(std::move(collection)), shard_(std::move(shard)) {}

  [[nodiscard]] EntryNumber applied() const override { return log().visible(); }
  [[nodiscard]] Result<> store_body(const EntryId& id, std::string_view body) override {
    return log().store_body(id, body);
  }
  [[nodiscard]] Result<std::optional<std::string>> body(const EntryId& id) const override {
    return log().body(id);
  }
  [[nodiscard]] Result<> apply(EntryNumber number, std::string_view body,
                               std::function<void(Result<>)> done) override {
    auto entry = std::make_shared<CommittedEntry>();
    entry->number = number;
    entry->n_bytes = body.size();
    QV_TRY(entry->changes, decode_entry(body, collection_->config()->fields));
    ShardRequest request;
    request.entry = std::move(entry);
    request.done = [done = std::move(done)](const Result<std::vector<Seq>>& applied) {
      done(applied ? Result<>() : fail(applied.error()));
    };
    return shard_->submit(std::move(request));
  }
  [[nodiscard]] Result<> trim(EntryNumber first_kept) override { return log().trim(first_kept); }

 private:
  [[nodiscard]] ReplicatedLog& log() const { return *shard_->replicated_log(); }

  const std::shared_ptr<const Collection> collection_;
  const std::shared_ptr<Shard> shard_;
};

/// An update holds its rows as checked, as changed, in the store's buffer, and in the segment.
constexpr std::uint64_t kCopiesOfARow = 4;

/// Deletions are always taken: they may be what makes room.
Result<> check_memory(const std::vector<PreparedOperation>& operations) {
  std::uint64_t n_bytes = 0;
  for (const auto& operation : operations) {
    const auto* change = std::get_if<PreparedChange>(&operation);
    if (change == nullptr || change->kind == PreparedChange::Kind::kSetPayload ||
        change->kind == PreparedChange::Kind::kOverwritePayload) {
      n_bytes += size_bytes(operation);
    }
  }
  return n_bytes == 0 ? Result<>() : process_memory().check(kCopiesOfARow * n_bytes, "an update");
}

Result<> check_takes_bulk(const CollectionConfig& config) {
  if (config.sharding == ShardingMethod::kAuto) return {};
  return fail(Code::kInvalidArgument,
              "Shard key not specified: a collection with custom sharding takes no bulk loads");
}

}  // namespace

Result<std::shared_ptr<CollectionImpl>> CollectionImpl::open(
    const std::string& path, std::shared_ptr<const CollectionConfig> config,
    const ShardContext& context, storage::Opening opening, Executor& compute,
    SaveConfig save_config, const JobContext* jobs) {
  if (opening == storage::Opening::kMustExist) {
    for (const std::uint32_t number : shard_numbers(*config)) {
      QV_TRY(Shard::check_exists(shard_path(path, number), context));
    }
  }
  const Stopwatch clock;
  if (config->sharding == ShardingMethod::kCustom) QV_TRY(remove_stray_shards(path, *config));
  ShardContext own = context;
  own.queries = open_samples(path, *config, context);
  std::shared_ptr<CollectionImpl> collection(
      new CollectionImpl(path, config, own, compute, std::move(save_config)));
  Shards shards = places_of(*config);
  for (auto& place : shards) {
    // Bulk loads, which the first shard decides, are for collections without keys.
    const Shard* first = place.key || place.number == 0 ? nullptr : shards.front().shard.get();
    QV_TRY(auto shard,
           Shard::open(shard_path(path, place.number), config, own, first, place.number));
    place.shard = std::move(shard);
  }
  collection->shards_.store(std::make_shared<const Shards>(std::move(shards)));
  collection->open_recall(jobs);
  if (jobs != nullptr) QV_TRY(collection->open_jobs(*jobs));
  QV_TRY(collection->open_private_sums());
  collection->opening_s_ = clock.seconds();
  return collection;
}

Result<> CollectionImpl::open_jobs(const JobContext& context) {
  JobHost host;
  host.check = [this](const JoinRequest& request) -> Result<> {
    if (!request.into.empty()) QV_TRY(check_gates());
    const auto config = config_.load();
    QV_TRY(const Snapshot now, snapshot(*config, {}));
    return check_join({now, *config, Cancel(), nullptr, index_policy(config)}, request);
  };
  host.join = [this, executor = context.executor](const JoinRequest& request, const Cancel& cancel,
                                                  JoinProgress& progress) -> Result<JoinTable> {
    const auto config = config_.load();
    QV_TRY(const Snapshot now, snapshot(*config, {}));
    return checked(
        now, run_join({now, *config, cancel, executor, index_policy(config)}, request, progress));
  };
  host.project = [this](const ProjectionRequest& request,
                        const Cancel& cancel) -> Result<Projection> {
    const auto config = config_.load();
    QV_TRY(const Snapshot now, snapshot(*config, request.shards));
    const SearchEnvironment environment{now, *config, cancel, &compute_, index_policy(config)};
    return checked(now, project_sample(environment, request));
  };
  host.apply = [this](std::vector<Operation> operations) { return apply(std::move(operations)); };
  host.keep = [this] { return std::shared_ptr<const void>(weak_from_this().lock()); };
  QV_TRY(auto directory, context_.open_directory(path_));
  jobs_ = std::make_unique<CollectionJobs>(context, std::move(directory), std::move(host));
  if (auto opened = jobs_->open(); !opened) {  // the points are there all the same
    log_error("jobs of `{}` are not read: {}", path_, opened.error().message());
  }
  return {};
}

Result<> CollectionImpl::open_private_sums() {
  PrivateSumHost host;
  host.check_changes = [this]() -> Result<> {
    if (context_.replication == nullptr) return context_.write_gate->check();
    return fail(Code::kUnimplemented,
                "a node of a cluster makes no private sums: each node would spend a budget of its "
                "own on the same points");
  };
  host.check = [this](const PrivateSumRequest& request) {
    return check_features(*config_.load(), request);
  };
  host.sum = [this](const PrivateSumRequest& request, const PrivateFeatures& features,
                    const Cancel& cancel) -> Result<FeatureSums> {
    const auto config = config_.load();
    QV_TRY(const Snapshot now, snapshot(*config, {}));
    return checked(now, sum_features({now, *config, cancel, &compute_}, request, features));
  };
  QV_TRY(auto directory, context_.open_directory(path_));
  private_sums_ = std::make_unique<CollectionSums>(std::move(directory), std::move(host));
  private_sums_->open();
  return {};
}

void CollectionImpl::open_recall(const JobContext* jobs) {
  RecallHost host;
  host.config = [this] { return config_.load(); };
  host.points = [this](std::size_t field) { return points_of(Snapshot(moment().sets), field); };
  host.check_changes = [this]() -> Result<> {
    if (context_.replication == nullptr || is_replicated()) return check_gates();
    return fail(Code::kFailedPrecondition, "the collection is on this node alone");
  };
  host.measure = [this](const RecallRequest& request, const Cancel& cancel) {
    return measure_prepared(request, cancel);
  };
  host.store = [this](RecallTable table) {
    const auto change = [&](CollectionConfig& config) -> Result<> {
      set_recall(config, std::move(table));
      return {};
    };
    return change_config(change, Ack::kDurable);
  };
  host.recall_of = [this](const WatchedSearch& search, const Cancel& cancel) -> Result<double> {
    const auto config = config_.load();
    const SearchEnvironment environment{search.snapshot, *config, cancel, nullptr,
                                        index_policy(config)};
    return checked(search.snapshot, engine::recall_of(environment, search));
  };
  host.keep = [this] { return std::shared_ptr<const void>(weak_from_this().lock()); };
  Executor& measuring = jobs != nullptr ? *jobs->executor : *context_.background;
  recall_ = std::make_unique<CollectionRecall>(
      RecallContext{compute_, measuring, context_.queries, context_.recall_budget,
                    context_.keep_recall},
      std::move(host));
  recall_->follow(*config_.load());
}

Result<> CollectionImpl::apply(std::vector<Operation> operations) {
  auto latch = std::make_shared<Latch>(1);
  QV_TRY(update(std::move(operations), Ack::kDurable, [latch](const auto& results) {
    latch->arrive(results ? Result<>() : fail(results.error()));
  }));
  return latch->wait();
}

template <class T>
Result<T> CollectionImpl::checked(const Snapshot& read, Result<T> answer) {
  QV_TRY(read.check());
  return answer;
}

Result<Snapshot> CollectionImpl::Moment::select(const ShardSelector& selector) const {
  QV_TRY(const auto chosen, shards_to_read(*shards, selector));
  Expiry::Sets some;
  std::vector<ShardKey> keys;
  some.reserve(chosen.size());
  for (const std::size_t i : chosen) {
    some.push_back(sets[i]);
    if ((*shards)[i].key) keys.push_back(*(*shards)[i].key);
  }
  return Snapshot(std::move(some), std::move(keys));
}

CollectionImpl::Moment CollectionImpl::moment() const {
  Moment now{shards_.load(), {}};
  now.sets.reserve(now.shards->size());
  for (const auto& listed : *now.shards) now.sets.push_back(listed.shard->snapshot());
  return now;
}

CollectionImpl::Moment CollectionImpl::moment(const CollectionConfig& config) const {
  auto now = moment();
  if (config.ttl) now.sets = expiry_.hide(std::move(now.sets), config, context_.unix_s());
  return now;
}

IndexPolicy CollectionImpl::index_policy(
    const std::shared_ptr<const CollectionConfig>& config) const {
  return engine::index_policy(context_.choose_index, config);
}

CollectionInfo CollectionImpl::info() const {
  const auto config = config_.load();
  const auto now = moment(*config);
  auto info = collection_info(*now.shards, Snapshot(now.sets), *config, index_policy(config));
  info.search_work = search_work_.load();
  info.opening_s = opening_s_;
  return info;
}

std::vector<ShardInfo> CollectionImpl::shards() const {
  return shard_infos(*shards_.load(), index_policy(config_.load()));
}

std::vector<SegmentIndexInfo> CollectionImpl::segment_indexes() const {
  return segment_index_infos(*shards_.load());
}

std::vector<SegmentAttributesInfo> CollectionImpl::segment_attributes() const {
  return segment_attribute_infos(*shards_.load());
}

OptimizationReport CollectionImpl::optimizations() const {
  const auto config = config_.load();
  return optimization_report(*shards_.load(), config->optimizer, index_policy(config));
}

Result<> CollectionImpl::update(std::vector<Operation> operations, const UpdateTerms& terms,
                                std::function<void(Result<std::vector<UpdateResult>>)> done) {
  QV_TRY(check_gates());
  const Counted counted(n_being_queued_);
  const auto config = config_.load();
  if (context_.replication != nullptr && config->cluster_id.empty()) {
    return fail(Code::kFailedPrecondition,
                "the collection is on this node alone and takes no changes: bring it into the "
                "cluster with `quiver cluster adopt`");
  }
  if (is_replicated() && terms.ack == Ack::kVisible) {
    done = visible_everywhere(*context_.replication, config->cluster_id, std::move(done));
  }
  std::vector<PreparedOperation> prepared;
  prepared.reserve(operations.size());
  for (auto& operation : operations) {
    QV_TRY(auto one, prepare_and_take(operation, *config));
    prepared.push_back(std::move(one));
  }
  QV_TRY(check_memory(prepared));
  const Request request{operations.size(), terms};
  if (config->tenant_quota) {
    return take_turn({std::move(prepared), std::move(operations)}, request, std::move(done));
  }
  const auto shards = shards_.load();
  QV_TRY(auto parts, split_by_key(std::move(prepared), operations, *shards, config->sharding));
  return submit(*shards, std::move(parts), request, terms.ack, std::move(done));
}

Result<> CollectionImpl::submit(const Shards& shards, std::vector<UpdatePart> parts,
                                const Request& request, Ack ack, UpdateJoin::Done done) {
  const auto n_waiting = std::max<std::size_t>(1, parts.size());
  auto join = std::make_shared<UpdateJoin>(n_waiting, request.n_operations, request.terms.ack,
                                           std::move(done));
  if (parts.empty()) {  // nothing to change; answered from another thread all the same
    const auto answer = [join](const Result<>& confirmed) {
      join->part_done({}, confirmed ? Result<std::vector<Seq>>() : fail(confirmed.error()));
    };
    if (is_replicated()) {
      context_.replication->confirm_leads(config_.load()->cluster_id, answer);
    } else {
      context_.lanes->post(Priority::kHigh, [answer] { answer({}); });
    }
    return {};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto submitted = guarded([&] {
      auto answer = [join, numbers = parts[i].numbers](const Result<std::vector<Seq>>& seqs) {
        join->part_done(numbers, seqs);
      };
      ShardRequest part;
      part.operations = std::move(parts[i].operations);
      part.ack = ack;
      part.done = std::move(answer);
      part.deadline = Deadline::after(context_.update_patience);
      part.caller_deadline = request.terms.deadline;
      return shards[parts[i].shard].shard->submit(std::move(part));
    });
    if (submitted) continue;
    if (i == 0) return submitted;  // nothing was queued: the caller may try again
    for (; i < parts.size(); ++i) join->part_done(parts[i].numbers, fail(submitted.error()));
  }
  return {};
}

/// Tenants are counted in what is visible: the update before is visible when the next is checked.
Result<> CollectionImpl::take_turn(Waiting update, const Request& request, UpdateJoin::Done done) {
  std::uint64_t n_bytes = 0;
  for (const auto& operation : update.prepared) n_bytes += size_bytes(operation);
  auto waiting = std::make_shared<Waiting>(std::move(update));
  return turns_.take(n_bytes, [self = shared_from_this(), waiting, request,
                               done = std::move(done)](const std::function<void()>& over) {
    const auto finish = [self, done, over](Result<std::vector<UpdateResult>> result) {
      over();
      run_logged("answering an update", [&] { done(std::move(result)); });
    };
    auto submitted = guarded([&] { return self->check_and_submit(*waiting, request, finish); });
    if (!submitted) finish(fail(submitted.error()));
  });
}

/// The shards are those of now: a key may have come or gone since the update began to wait.
Result<> CollectionImpl::check_and_submit(Waiting& update, const Request& request,
                                          UpdateJoin::Done done) {
  const auto config = config_.load();
  const Moment now = moment();
  QV_TRY(auto parts, split_by_key(std::move(update.prepared), update.operations, *now.shards,
                                  config->sharding));
  QV_TRY(check_tenants(now.sets, *config, parts));
  return submit(*now.shards, std::move(parts), request, Ack::kVisible, std::move(done));
}

/// Returns when all updates that were taken without a turn are visible.
Result<> CollectionImpl::wait_for_earlier_updates() {
  while (n_being_queued_ != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto shards = shards_.load();
  auto latch = std::make_shared<Latch>(shards->size());
  for (const auto& listed : *shards) {
    ShardRequest nothing;
    nothing.done = [latch](const auto& seqs) {
      latch->arrive(seqs ? Result<>() : fail(seqs.error()));
    };
    nothing.deadline = Deadline::after(context_.update_patience);
    if (!listed.shard->submit(std::move(nothing))) latch->arrive({});
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
        snapshot_(collection_->snapshot(*config_, query_.shards)),
        cost_(snapshot_ ? estimate_cost(*snapshot_, query_, *config_) : QueryCost()),
        plan_(query_) {}

  [[nodiscard]] const Query& query() const override { return query_; }
  [[nodiscard]] const QueryCost& cost() const override { return cost_; }
  [[nodiscard]] Result<std::vector<Record>> run(const Cancel& cancel) const override {
    if (!snapshot_) return fail(snapshot_.error());
    return collection_->run(query_, plan_, cost_, *snapshot_, config_, cancel);
  }

 private:
  const std::shared_ptr<const CollectionImpl> collection_;
  const Query query_;
  const std::shared_ptr<const CollectionConfig> config_;  ///< first: see `snapshot`
  const Result<Snapshot> snapshot_;
  const QueryCost cost_;
  const Plan plan_;  ///< borrows `query_`
};

std::shared_ptr<const PlannedQuery> CollectionImpl::plan(Query query) const {
  return std::make_shared<const Planned>(shared_from_this(), std::move(query));
}

Result<std::vector<Record>> CollectionImpl::query(const Query& query, const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, query.shards));
  return run(query, Plan(query), estimate_cost(now, query, *config), now, config, cancel);
}

SearchEnvironment CollectionImpl::searching(const Snapshot& now,
                                            const std::shared_ptr<const CollectionConfig>& config,
                                            const Cancel& cancel, Executor* executor,
                                            index::WorkCounters& work) const {
  return {now,
          *config,
          cancel,
          executor,
          index_policy(config),
          &work,
          context_.queries.get(),
          context_.devices,
          nullptr,
          &recall_->watch()};
}

Result<std::vector<Record>> CollectionImpl::run(
    const Query& query, const Plan& plan, const QueryCost& cost, const Snapshot& now,
    const std::shared_ptr<const CollectionConfig>& config, const Cancel& cancel) const {
  Executor* executor = cost.is_parallel() ? &compute_ : nullptr;
  index::WorkCounters work;
  auto environment = searching(now, config, cancel, executor, work);
  environment.report = query.report ? &query.report->stage : nullptr;
  const Stopwatch clock;
  const auto search = [&](const Query& wide) { return Plan(wide).run(environment); };
  auto records = now.may_repeat_ids() ? distinct_hits(query, search) : plan.run(environment);
  search_work_.add(work);
  if (query.report) {
    query.report->us = clock.seconds() * 1e6;
    query.report->estimated_bytes = cost.read_bytes;
    query.report->is_parallel = cost.is_parallel();
  }
  return checked(now, std::move(records));
}

Result<std::vector<std::vector<Record>>> CollectionImpl::query_batch(std::span<const Query> queries,
                                                                     const Cancel& cancel) const {
  const auto config = config_.load();
  const auto at = moment(*config);
  const auto is_alone = [](const Query& query) { return query.shards.keys || query.report; };
  if (config->sharding == ShardingMethod::kCustom || std::ranges::any_of(queries, is_alone)) {
    std::vector<std::vector<Record>> answers;
    for (const auto& query : queries) {
      QV_TRY(const Snapshot now, at.select(query.shards));
      QV_TRY(answers.emplace_back(),
             run(query, Plan(query), estimate_cost(now, query, *config), now, config, cancel));
    }
    return answers;
  }
  QV_TRY(const Snapshot now, at.select({}));
  index::WorkCounters work;
  auto answers = run_queries({now, *config, cancel, &compute_, index_policy(config), &work,
                              context_.queries.get(), context_.devices, nullptr, &recall_->watch()},
                             queries);
  search_work_.add(work);
  return checked(now, std::move(answers));
}

Result<> CollectionImpl::bulk_load(const BulkChunk& chunk) {
  QV_TRY(check_gates());
  if (is_replicated()) {
    return fail(Code::kUnimplemented,
                "a replicated collection takes no bulk loads: send its points in batches");
  }
  QV_TRY(check_takes_bulk(*config_.load()));
  if (config_.load()->tenant_quota) {
    return fail(Code::kFailedPrecondition,
                "bulk loads count no tenants: remove the limit of tenants first");
  }
  return bulk_.load(chunk);
}

Result<std::string> CollectionImpl::bulk_cursor() const {
  QV_TRY(check_takes_bulk(*config_.load()));
  return shards_.load()->front().shard->bulk().cursor();
}

Result<CorpusCounts> CollectionImpl::count_terms(const Query& query, const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, query.shards));
  return checked(now, count_terms_of({now, *config, cancel, &compute_}, query));
}

Result<FoundPoints> CollectionImpl::find(const Query& search, RowParts wanted,
                                         const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, search.shards));
  Executor* executor = estimate_cost(now, search, *config).is_parallel() ? &compute_ : nullptr;
  index::WorkCounters work;
  const auto environment = searching(now, config, cancel, executor, work);
  auto found = find_points(environment, search, wanted);
  search_work_.add(work);
  if (found && std::holds_alternative<Sample>(search.kind)) {
    QV_TRY(found->n_matching, engine::count(now, *config, search.filter, cancel));
  }
  return checked(now, std::move(found));
}

Result<std::vector<Record>> CollectionImpl::retrieve(const RetrieveRequest& request) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  return checked(now, engine::retrieve(now, *config, request));
}

Result<std::vector<Explanation>> CollectionImpl::explain(const ExplainRequest& request,
                                                         const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  return checked(now, engine::explain({now, *config, cancel, &compute_}, request));
}

Result<ScrollPage> CollectionImpl::scroll(const ScrollRequest& request,
                                          const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  const auto read = [&](const ScrollRequest& wide) {
    return engine::scroll(now, *config, wide, cancel);
  };
  return checked(now, now.may_repeat_ids() ? distinct_page(request, read) : read(request));
}

Result<std::uint64_t> CollectionImpl::count(const CountRequest& request,
                                            const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  return checked(now, engine::count(now, *config, request.filter, cancel));
}

Result<std::vector<PointGroup>> CollectionImpl::groups(const GroupsQuery& query,
                                                       const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, query.query.shards));
  Executor* executor = estimate_cost(now, query.query, *config).is_parallel() ? &compute_ : nullptr;
  index::WorkCounters work;
  auto groups = find_groups(searching(now, config, cancel, executor, work), query);
  search_work_.add(work);
  if (groups && now.may_repeat_ids()) {
    for (auto& group : *groups) drop_repeated(group.hits);
  }
  return checked(now, std::move(groups));
}

Result<std::vector<FacetHit>> CollectionImpl::facet(const FacetRequest& request,
                                                    const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  return checked(now, count_facets(now, *config, request, cancel));
}

Result<std::vector<Aggregate>> CollectionImpl::aggregate(const AggregateRequest& request,
                                                         const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  return checked(now, engine::aggregate(now, *config, request, cancel));
}

Result<DistanceMatrix> CollectionImpl::distance_matrix(const MatrixRequest& request,
                                                       const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  return checked(now, compare_sample({now, *config, cancel, &compute_}, request));
}

Result<LearnedFusion> CollectionImpl::learn_fusion(const FusionLearning& learning,
                                                   const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, learning.shards));
  const SearchEnvironment environment{now, *config, cancel, &compute_, index_policy(config)};
  return checked(now, engine::learn_fusion(environment, learning));
}

Result<Proposals> CollectionImpl::propose(const ProposalRequest& request,
                                          const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, request.shards));
  index::WorkCounters work;
  const SearchEnvironment environment{now, *config, cancel, &compute_, index_policy(config), &work};
  auto proposals = engine::propose(environment, request);
  search_work_.add(work);
  return checked(now, std::move(proposals));
}

Result<RecallTable> CollectionImpl::measure_recall(const RecallRequest& request,
                                                   const Cancel& cancel) const {
  QV_TRY(const std::size_t field, config_.load()->field(request.using_field));
  if (context_.queries != nullptr) context_.queries->begin(field);
  QV_TRY(const auto prepared, recall_->with_queries(request));
  return measure_prepared(prepared, cancel);
}

Result<RecallTable> CollectionImpl::measure_prepared(const RecallRequest& request,
                                                     const Cancel& cancel) const {
  const auto config = config_.load();
  QV_TRY(const Snapshot now, snapshot(*config, {}));
  const SearchEnvironment environment{now, *config, cancel, &compute_, index_policy(config)};
  return checked(now, engine::measure_recall(environment, request));
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
  if (find_index(config_.load()->indexes, key) == nullptr) {
    QV_TRY(confirm_leads());
    return false;
  }
  QV_TRY(change_config([&](CollectionConfig& config) -> Result<> {
    std::erase_if(config.indexes, [&](const auto& other) { return other.key == key; });
    return {};
  }));
  return true;
}

Result<> CollectionImpl::change_config(const std::function<Result<>(CollectionConfig&)>& change,
                                       Ack ack, Origin origin) {
  std::shared_ptr<Latch> latch;
  bool limits_tenants = false;  // from now on
  {
    if (origin == Origin::kHere) QV_TRY(check_gates());
    MutexLock lock(change_mutex_);
    const auto shards = shards_.load();
    latch = std::make_shared<Latch>(shards->size());
    auto next = std::make_shared<CollectionConfig>(*config_.load());
    QV_TRY(change(*next));
    QV_TRY(check_ttl(*next));
    QV_TRY(check_tenant_quota(*next));
    next->strict_mode = strict_mode_of(next->client_settings, next->fields);
    next->memory = memory_plan_of(next->client_settings, next->fields, next->indexes);
    const bool is_new = *next != *config_.load();
    limits_tenants = next->tenant_quota && !config_.load()->tenant_quota;
    const bool adds_fields = next->fields.size() > config_.load()->fields.size();
    if (!is_new && origin == Origin::kHere) QV_TRY(confirm_leads());
    if (is_new) QV_TRY(save_config_(*config_.load(), *next, origin));
    if (is_new && !adds_fields) {
      config_.store(next);
      recall_->follow(*next);
    }
    // An unchanged configuration may not be in force in all shards yet: wait for it, too.
    for (const auto& listed : *shards) {
      listed.shard->set_config(next, [latch](Result<> result) {
        if (!result) {
          run_logged("changing a collection",
                     [&] { log_error("changing a collection: {}", result.error().to_string()); });
        }
        latch->arrive(std::move(result));
      });
    }
    if (adds_fields) {
      for (const auto& listed : *shards) QV_TRY(listed.shard->check_fields(*next));
      config_.store(next);
      recall_->follow(*next);
    }
  }
  if (ack == Ack::kVisible) QV_TRY(latch->wait());
  return limits_tenants ? wait_for_earlier_updates() : Result<>();
}

Result<> CollectionImpl::confirm_leads() const {
  if (!is_replicated()) return {};
  return wait_for_confirmed_lead(*context_.replication, config_.load()->cluster_id);
}

Result<> CollectionImpl::check_place() {
  const auto shards = shards_.load();
  for (const auto& listed : *shards) {
    if (auto fine = listed.shard->check_place(); !fine) {
      place_.close(fine.error());
      return fine;
    }
  }
  place_.open();
  return {};
}

Result<> CollectionImpl::check_gates() const {
  if (is_replicated()) {
    QV_TRY(context_.replication->check_leads(config_.load()->cluster_id));
  }
  QV_TRY(context_.write_gate->check());
  return place_.check();
}

void CollectionImpl::delete_expired() {
  const auto config = config_.load();
  if (!config->ttl || *deleting_expired_) return;
  const std::int64_t now_s = context_.unix_s();
  auto deletion = expiry_.deletion(moment().sets, *config, now_s);
  if (!deletion) return;
  deletion->shards.is_everywhere = true;
  *deleting_expired_ = true;
  const auto done = [deleting = deleting_expired_](const auto&) { *deleting = false; };
  // What fails is tried again at the next tick.
  if (!update({*std::move(deletion)}, Ack::kDurable, done)) *deleting_expired_ = false;
}

Result<CollectionImpl::Linked> CollectionImpl::link_files(const std::string& target,
                                                          std::optional<std::uint32_t> only) {
  return bulk_.between_loads([&]() -> Result<Linked> {
    Linked linked;
    QV_TRY(make_directories(target));
    const auto shards = shards_.load();
    for (const auto& listed : *shards) {
      if (only && *only != listed.number) continue;
      QV_TRY(const Seq seq, listed.shard->link_files(shard_path(target, listed.number)));
      linked.shards.push_back({listed.number, seq});
    }
    linked.config = config_.load();  // last: it has all fields that a row may have
    return linked;
  });
}

Result<Shards> CollectionImpl::with_new_shards(const Shards& listed,
                                               std::shared_ptr<const CollectionConfig> config) {
  Shards shards = places_of(*config);
  for (auto& place : shards) {
    const auto found = std::ranges::find(listed, place.number, &ListedShard::number);
    if (found != listed.end()) {
      place.shard = found->shard;
      continue;
    }
    const std::string path = shard_path(path_, place.number);
    QV_TRY(remove_tree(path));  // of a creation that a crash ended
    QV_TRY(auto shard, Shard::open(path, config, context_, nullptr, place.number));
    place.shard = std::move(shard);
  }
  QV_TRY(sync_directory(path_));
  return shards;
}

Result<> CollectionImpl::create_shard_key(const ShardKeyCreation& creation) {
  return bulk_.between_loads([&]() -> Result<> {
    if (closed_) return fail(Code::kUnavailable, "the collection is closing");
    QV_TRY(check_gates());
    MutexLock lock(change_mutex_);
    auto next = std::make_shared<CollectionConfig>(*config_.load());
    QV_TRY(add_shard_key(*next, creation));
    QV_TRY(auto shards, with_new_shards(*shards_.load(), next));
    // After an error the catalog may name the new shards until the old state is written again.
    // Their directories stay; the next creation or opening removes them.
    QV_TRY(save_config_(*config_.load(), *next, Origin::kHere));
    shards_.store(std::make_shared<const Shards>(std::move(shards)));
    config_.store(std::move(next));
    return {};
  });
}

Result<Shards> CollectionImpl::take_shards(const ShardKey& key) {
  MutexLock lock(change_mutex_);
  auto next = std::make_shared<CollectionConfig>(*config_.load());
  QV_TRY(remove_shard_key(*next, key));
  QV_TRY(save_config_(*config_.load(), *next, Origin::kHere));
  Shards kept;
  Shards dropped;
  const auto shards = shards_.load();
  for (const auto& listed : *shards) {
    (listed.key == key ? dropped : kept).push_back(listed);
  }
  shards_.store(std::make_shared<const Shards>(std::move(kept)));
  config_.store(std::move(next));
  return dropped;
}

/// Nobody finds them any more. Reads of earlier snapshots go on: they have the files open.
void CollectionImpl::remove_shards(const Shards& dropped) {
  for (const auto& listed : dropped) {
    auto removed = listed.shard->close();
    if (removed) removed = remove_tree(shard_path(path_, listed.number));
    if (!removed) {
      log_warning("removing shard {} of `{}`, which the next start does: {}", listed.number, path_,
                  removed.error().message());
    }
  }
}

Result<> CollectionImpl::drop_shard_key(const ShardKey& key) {
  return bulk_.between_loads([&]() -> Result<> {
    if (closed_) return fail(Code::kUnavailable, "the collection is closing");
    QV_TRY(check_gates());
    QV_TRY(const Shards dropped, take_shards(key));
    remove_shards(dropped);
    return {};
  });
}

/// Opens the shards of new keys and removes those of dropped ones.
Result<> CollectionImpl::adopt_shards(const CollectionConfig& config,
                                      const std::function<Result<bool>()>& is_current) {
  Shards dropped;
  const auto swapped = bulk_.between_loads([&]() -> Result<> {
    MutexLock lock(change_mutex_);
    auto next = std::make_shared<CollectionConfig>(*config_.load());
    if (next->shard_keys == config.shard_keys) return {};
    QV_TRY(const bool is_wanted, is_current());
    if (!is_wanted) return {};
    QV_TRY(check_can_follow(*next, config));
    next->shard_keys = config.shard_keys;
    next->next_shard = config.next_shard;
    const auto listed = shards_.load();
    QV_TRY(auto shards, with_new_shards(*listed, next));
    QV_TRY(save_config_(*config_.load(), *next, Origin::kCluster));
    for (const auto& old : *listed) {
      const auto kept = std::ranges::find(shards, old.number, &ListedShard::number);
      if (kept == shards.end()) dropped.push_back(old);
    }
    shards_.store(std::make_shared<const Shards>(std::move(shards)));
    config_.store(std::move(next));
    return {};
  });
  remove_shards(dropped);
  return swapped;
}

Result<> CollectionImpl::adopt_config(const CollectionConfig& config,
                                      const std::function<Result<bool>()>& is_current) {
  if (closed_) return fail(Code::kUnavailable, "the collection is closing");
  QV_TRY(adopt_shards(config, is_current));
  const auto take_over = [&](CollectionConfig& next) -> Result<> {
    QV_TRY(const bool is_wanted, is_current());
    if (!is_wanted) return {};
    QV_TRY(check_can_follow(next, config));
    next = config;
    return {};
  };
  return change_config(take_over, Ack::kDurable, Origin::kCluster);
}

Result<std::shared_ptr<Replica>> CollectionImpl::replica(std::uint32_t shard) {
  const auto shards = shards_.load();
  const auto found = std::ranges::find(*shards, shard, &ListedShard::number);
  if (found == shards->end() || found->shard->replicated_log() == nullptr) {
    return Collection::replica(shard);
  }
  return std::shared_ptr<Replica>(
      std::make_shared<ReplicaOfShard>(shared_from_this(), found->shard));
}

void CollectionImpl::tick() {
  const auto shards = shards_.load();
  for (const auto& listed : *shards) listed.shard->tick();
  delete_expired();
  bulk_.retry(shared_from_this());
  recall_->tick();
  if (context_.queries == nullptr || !context_.queries->is_due(QuerySamples::Clock::now())) return;
  context_.background->post(Priority::kLow, [queries = context_.queries] { queries->save(); });
}

bool CollectionImpl::is_at_rest() const {
  if (config_.load()->ttl) return false;  // expired points are deleted by ticks
  if (recall_->is_busy()) return false;
  const auto shards = shards_.load();
  return std::ranges::all_of(*shards, [](const auto& listed) {
    const ShardStatus status = listed.shard->status();
    return !status.optimizing && status.error.empty() && listed.shard->n_queued() == 0;
  });
}

Result<> CollectionImpl::close() {
  if (jobs_ != nullptr) jobs_->close();
  if (private_sums_ != nullptr) private_sums_->close();
  if (recall_ != nullptr) recall_->close();
  return bulk_.between_loads([this] { return close_shards(); });
}

Result<> CollectionImpl::close_shards() {
  closed_ = true;
  Result<> result;
  const auto shards = shards_.load();
  for (const auto& listed : *shards) {
    auto closed = listed.shard->close();
    const bool is_late = !result && result.error().code() == Code::kDeadlineExceeded;
    if (!closed && !is_late) result = std::move(closed);
  }
  is_half_closed_ = !result && result.error().code() == Code::kDeadlineExceeded;
  if (!is_half_closed_ && context_.queries != nullptr) context_.queries->close();
  return result;
}

bool CollectionImpl::can_finish_closing() {
  const auto shards = shards_.load();
  return is_half_closed_ && std::ranges::all_of(*shards, [](const auto& listed) {
           return listed.shard->has_no_work();
         });
}

}  // namespace quiver::engine
