#include "engine/shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace quiver::engine {
namespace {

/// One synced batch carries about this much at most.
constexpr std::uint64_t kGroupBytes = 16ULL << 20;
/// Frozen segments waiting to be sealed: at this many, writers wait for the background.
constexpr std::size_t kMaxUnsealed = 4;
/// A mutable segment with fewer rows and bytes is not sealed for being idle: replaying it is quick,
/// and so is searching it without an index.
constexpr std::uint32_t kMinIdleRows = 1000;
constexpr std::uint64_t kMinIdleBytes = 8ULL << 20;
/// A seal for idleness that is further off is no work in hand, and the status does not wait for it.
constexpr double kSoonSealSeconds = 10;
constexpr auto kRetryDelay = std::chrono::seconds(5);
constexpr auto kReclaimIdle = std::chrono::seconds(1);

bool is_worth_sealing(const MutableSegment& segment) {
  return segment.n_rows() >= kMinIdleRows || segment.data_bytes() >= kMinIdleBytes;
}

std::uint64_t size_bytes(const ShardRequest& request) {
  std::uint64_t bytes = 0;
  for (const auto& operation : request.operations) bytes += engine::size_bytes(operation);
  return bytes;
}

/// A request and what became of it, until it is answered.
struct Outcome {
  ShardRequest request;
  Result<std::vector<Seq>> result;
};

Result<std::vector<Seq>> stage(const ShardRequest& request, const SegmentSet& base,
                               const CollectionConfig& config, Staging& group, Seq& next) {
  Staging layer(base, config, &group);
  std::vector<Seq> seqs;
  Seq numbered = next;
  for (const auto& operation : request.operations) {
    QV_TRY(layer.apply(operation, numbered));
    seqs.push_back(Seq{to_number(numbered) - 1});
  }
  next = numbered;
  group.absorb(std::move(layer));
  return seqs;
}

void answer(std::vector<Outcome>& outcomes, Ack ack) {
  for (auto& outcome : outcomes) {
    if (!outcome.request.done || outcome.request.ack != ack) continue;
    outcome.request.done(std::move(outcome.result));
    outcome.request.done = nullptr;
  }
}

}  // namespace

Shard::Shard(std::string path, std::shared_ptr<const CollectionConfig> config,
             const ShardContext& context)
    : path_(std::move(path)),
      context_(context),
      config_(std::move(config)),
      lane_(std::make_unique<SerialLane>(*context.lanes, Priority::kHigh)) {}

Shard::~Shard() {
  if (auto result = close(); !result) {
    log_error("closing shard {}: {}", path_, result.error().message());
  }
}

Result<> Shard::submit(ShardRequest request) {
  const std::uint64_t bytes = size_bytes(request);
  bool post = false;
  {
    MutexLock lock(queue_mutex_);
    if (closed_) return fail(Code::kUnavailable, "the collection is closed");
    if (queued_bytes_ != 0 && queued_bytes_ + bytes > context_.max_queued_bytes) {
      return fail(Code::kResourceExhausted,
                  fmt::format("the update queue is full: {} bytes wait, at most {} may",
                              queued_bytes_, context_.max_queued_bytes));
    }
    queued_bytes_ += bytes;
    queue_.push_back(std::move(request));
    post = !std::exchange(drain_posted_, true);
  }
  if (post) lane_->post([this] { drain(); });
  return {};
}

std::uint64_t Shard::n_queued() const {
  MutexLock lock(queue_mutex_);
  return queue_.size();
}

std::deque<ShardRequest> Shard::take_queued() {
  MutexLock lock(queue_mutex_);
  std::deque<ShardRequest> taken;
  std::uint64_t bytes = 0;
  while (!queue_.empty() && (taken.empty() || bytes < kGroupBytes)) {
    const std::uint64_t size = size_bytes(queue_.front());
    bytes += size;
    queued_bytes_ -= size;
    taken.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return taken;
}

void Shard::drain() {
  if ((bulk_ || (n_unsealed() >= kMaxUnsealed && sealing_)) && !closed_) {
    MutexLock lock(queue_mutex_);
    drain_posted_ = false;  // the end of the bulk load or of the running seal posts again
    return;
  }
  std::vector<Outcome> outcomes;
  const auto base = snapshot_.load();
  const auto config = config_.load();
  Staging group(*base, *config, nullptr);
  Seq next = next_seq_;
  for (auto& request : take_queued()) {
    auto result = stage(request, *base, *config, group, next);
    outcomes.push_back({std::move(request), std::move(result)});
  }
  next_seq_ = next;  // numbers of a failed write are never used again
  if (auto written = commit(group); written) {
    answer(outcomes, Ack::kDurable);
    apply_to_memory(group);
    publish();
  } else {
    for (auto& outcome : outcomes) {
      if (outcome.result) outcome.result = fail(written.error());
    }
    answer(outcomes, Ack::kDurable);
  }
  answer(outcomes, Ack::kVisible);
  start_due_jobs();
  bool more = false;
  {
    MutexLock lock(queue_mutex_);
    more = drain_posted_ = !queue_.empty();
  }
  if (more) lane_->post([this] { drain(); });
}

Result<> Shard::commit(const Staging& staging) {
  if (staging.empty()) return {};
  if (bulk_) return fail(Code::kUnavailable, "closing, and a bulk load is not finished");
  storage::RowBatch batch;
  for (const auto& change : staging.changes()) {
    if (change.row != nullptr) {
      batch.put_row(change.id, encode_row(*change.row));
    } else {
      batch.delete_row(change.id);
    }
    batch.put_op(change.seq, encode_op(change.row != nullptr, change.id));
  }
  return store_->write(batch);
}

void Shard::apply_to_memory(const Staging& staging) {
  if (staging.empty()) return;
  for (const auto& change : staging.changes()) {
    delete_in_memory(change.id);
    if (change.row != nullptr) mutable_->append(*change.row);
  }
  last_write_ = Clock::now();
  wants_tick_ = true;
  freeze_if_full();
}

void Shard::delete_in_memory(const PointId& id) {
  // Each id is touched once between two publications, so the published places are still true.
  const auto place = snapshot_.load()->find(id);
  if (!place) return;
  if (place->segment < segments_.size()) {
    mark_dead(segments_[place->segment], place->row);
  } else {
    mark_mutable_dead(place->row);
  }
}

void Shard::mark_dead(State& state, std::size_t row) {
  if (state.deleted.test(row)) return;
  state.deleted.set(row);
  ++state.n_deleted;
  ++n_rows_dropped_;
  state.changed = state.unsaved = true;
}

void Shard::mark_mutable_dead(std::size_t row) {
  mutable_deleted_.resize(mutable_->n_rows());
  if (mutable_deleted_.test(row)) return;
  mutable_deleted_.set(row);
  ++n_mutable_deleted_;
  ++n_rows_dropped_;
}

void Shard::freeze_if_full() {
  const auto& optimizer = config_.load()->optimizer;
  if (mutable_->n_rows() >= optimizer.seal_rows || mutable_->data_bytes() >= optimizer.seal_bytes) {
    freeze();
  }
}

void Shard::freeze() {
  if (mutable_->n_rows() == 0) return;
  State state;
  state.view.data = mutable_->snapshot();
  state.deleted = std::move(mutable_deleted_);
  state.deleted.resize(mutable_->n_rows());
  state.n_deleted = n_mutable_deleted_;
  state.changed = true;
  state.first_seq = mutable_->first_seq();
  segments_.push_back(std::move(state));
  const auto config = config_.load();
  mutable_ = std::make_unique<MutableSegment>(next_segment_++, config->fields, config->indexes);
  mutable_deleted_ = Bitset();
  n_mutable_deleted_ = 0;
}

void Shard::publish() {
  auto set = std::make_shared<SegmentSet>();
  set->seq = Seq{to_number(next_seq_) - 1};
  for (State& state : segments_) {
    if (state.changed) {
      state.view.deleted =
          state.n_deleted == 0 ? nullptr : std::make_shared<const Bitset>(state.deleted);
      state.view.n_deleted = state.n_deleted;
      state.changed = false;
    }
    set->segments.push_back(state.view);
  }
  if (mutable_->n_rows() != 0) {
    Segment view{mutable_->snapshot(), nullptr, n_mutable_deleted_};
    if (n_mutable_deleted_ != 0) {
      mutable_deleted_.resize(mutable_->n_rows());
      view.deleted = std::make_shared<const Bitset>(mutable_deleted_);
    }
    set->segments.push_back(std::move(view));
  }
  snapshot_.store(std::move(set));
  update_status();
}

void Shard::update_status() {
  const auto set = snapshot_.load();
  ShardStatus status;
  status.n_live = set->n_live();
  status.n_segments = set->segments.size();
  for (const auto& segment : set->segments) {
    if (segment.data->sealed) status.n_sealed_rows += segment.n_live();
  }
  const auto& optimizer = config_.load()->optimizer;
  const auto facts = segment_facts();
  const bool seals_soon = is_worth_sealing(*mutable_) && optimizer.idle_seal_s <= kSoonSealSeconds;
  const bool merges_soon =
      optimizer.idle_seal_s <= kSoonSealSeconds && plan_idle_merge(facts, optimizer).has_value();
  const bool optimizes =
      optimizer.max_threads != 0 &&
      (plan_rewrite(facts, optimizer).has_value() || plan_index(facts).has_value() || merges_soon);
  status.optimizing = seals_soon || sealing_ || optimizing_ || reclaiming_ ||
                      plan_seal(facts).has_value() || optimizes;
  status.n_damaged = damaged_.size();
  for (const State& state : segments_) status.n_damaged_indexes += state.index_damaged ? 1 : 0;
  status.error = last_error_;
  MutexLock lock(status_mutex_);
  status_ = std::move(status);
}

ShardStatus Shard::status() const {
  MutexLock lock(status_mutex_);
  return status_;
}

void Shard::report(std::uint32_t number, OptimizationReport& report) const {
  jobs_.report(number, report);
}

std::size_t Shard::n_unsealed() const {
  return static_cast<std::size_t>(std::count_if(
      segments_.begin(), segments_.end(), [](const State& s) { return !s.view.data->sealed; }));
}

std::vector<SegmentFacts> Shard::segment_facts() const {
  const auto policy = index_policy();
  std::vector<SegmentFacts> facts;
  for (const State& state : segments_) {
    const auto& data = *state.view.data;
    facts.push_back({data.id, data.sealed, state.busy, data.n_rows, state.n_deleted,
                     data.data_bytes(), !missing_indexes(data, policy).empty(),
                     state.fit.next_drifted().has_value(), may_gain_by_merging(data, policy)});
  }
  return facts;
}

void Shard::tick() {
  if ((wants_tick_ || is_drift_due()) && !closed_) lane_->post([this] { on_tick(); });
}

void Shard::on_tick() {
  if (closed_) return;
  const auto idle = Clock::now() - last_write_;
  bool settled = false;
  if (is_idle()) {
    if (is_worth_sealing(*mutable_) || !damaged_.empty()) {
      freeze();
      publish();
    }
    save_deletes();
    settled = true;
  }
  remove_leftovers();
  if (is_drift_due()) check_drift();
  if (idle >= kReclaimIdle) start_reclaim();
  start_due_jobs();
  if (settled && leftovers_.empty() && !sealing_ && !optimizing_ && !reclaiming_ &&
      !status().optimizing) {
    wants_tick_ = false;
  }
}

bool Shard::is_idle() const {
  const double idle_s = std::chrono::duration<double>(Clock::now() - last_write_).count();
  return idle_s >= config_.load()->optimizer.idle_seal_s;
}

void Shard::note_failure(std::string_view what, const Error& error) {
  last_error_ = fmt::format("{}: {}", what, error.message());
  failed_work_ = what;
  retry_after_ = Clock::now() + kRetryDelay;
  log_error("shard {}: {}", path_, last_error_);
  update_status();
}

void Shard::note_success(std::string_view what) {
  if (failed_work_ != "seal" || what == "seal") last_error_.clear();
}

Result<> Shard::close() {
  {
    MutexLock lock(queue_mutex_);
    if (closed_.exchange(true)) return {};
  }
  lane_->drain();
  closing_.cancel();
  wait_for_background();
  lane_->drain();
  return store_ == nullptr ? Result<>() : store_->close();
}

}  // namespace quiver::engine
