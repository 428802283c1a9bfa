#include "engine/shard/shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/observe/failure.h"
#include "base/observe/log.h"

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

template <class Request>
void answer(Request& request, Result<std::vector<Seq>> result) noexcept {
  const auto done = std::exchange(request.done, nullptr);
  if (done) run_logged("answering an update", [&] { done(std::move(result)); });
}

}  // namespace

Shard::Shard(std::string path, std::shared_ptr<const CollectionConfig> config,
             const ShardContext& context)
    : path_(std::move(path)),
      context_(context),
      config_(std::move(config)),
      lane_(std::make_unique<SerialLane>(*context.lanes, Priority::kHigh)) {}

Shard::~Shard() {
  if (auto result = guarded([this] { return close(); }); !result) {
    run_logged("closing a shard",
               [&] { log_error("closing shard {}: {}", path_, result.error().message()); });
  }
  while (!wait_for_background(std::chrono::hours(1))) {
  }
  lane_->drain();
}

Result<> Shard::submit(ShardRequest request) {
  const std::uint64_t n_bytes = size_bytes(request);
  std::list<Pending> added;
  added.push_back({std::move(request), n_bytes, {}});
  bool post = false;
  {
    MutexLock lock(queue_mutex_);
    if (closed_) return fail(Code::kUnavailable, "the collection is closed");
    if (queued_bytes_ != 0 && queued_bytes_ + n_bytes > context_.max_queued_bytes) {
      return fail(Code::kResourceExhausted,
                  fmt::format("the update queue is full: {} bytes wait, at most {} may",
                              queued_bytes_, context_.max_queued_bytes));
    }
    queued_bytes_ += n_bytes;
    queue_.splice(queue_.end(), added);
    post = !std::exchange(drain_posted_, true);
  }
  if (post) lane_->post(Task::borrow(drain_task_));
  return {};
}

std::uint64_t Shard::n_queued() const {
  MutexLock lock(queue_mutex_);
  return queue_.size();
}

std::list<Shard::Pending> Shard::take_queued() {
  MutexLock lock(queue_mutex_);
  std::list<Pending> taken;
  std::uint64_t n_bytes = 0;
  while (!queue_.empty() && (taken.empty() || n_bytes < kGroupBytes)) {
    n_bytes += queue_.front().n_bytes;
    queued_bytes_ -= queue_.front().n_bytes;
    taken.splice(taken.end(), queue_, queue_.begin());
  }
  return taken;
}

/// True if updates must wait: the end of the bulk load or of the running seal posts again.
bool Shard::put_off_drain() {
  if (closed_ || !(bulk_ || (n_unsealed() >= kMaxUnsealed && sealing_))) return false;
  MutexLock lock(queue_mutex_);
  drain_posted_ = false;
  return true;
}

void Shard::post_drain_if_queued() {
  bool post = false;
  {
    MutexLock lock(queue_mutex_);
    post = drain_posted_ = !queue_.empty();
  }
  if (post) lane_->post(Task::borrow(drain_task_));
}

void Shard::drain() noexcept {
  if (put_off_drain()) return;
  mend();
  auto group = take_queued();
  const auto base = snapshot_.load();
  const auto config = config_.load();
  Staging staging(*base, *config, nullptr);
  const Result<> committed = guarded([&] { return stage_and_commit(group, staging); });
  for (auto& [request, n_bytes, result] : group) {
    if (!committed && result) result = fail(committed.error());
    if (request.ack == Ack::kDurable) answer(request, std::move(result));
  }
  if (committed) apply_committed(staging);
  if (!committed) wants_tick_ = true;  // to repair the store
  for (auto& [request, n_bytes, result] : group) answer(request, std::move(result));
  if (is_full()) freeze_if_full();
  start_due_jobs();
  post_drain_if_queued();
}

Result<> Shard::stage_and_commit(std::list<Pending>& group, Staging& staging) {
  const auto base = snapshot_.load();
  const auto config = config_.load();
  Seq next = next_seq_;
  for (auto& [request, n_bytes, result] : group) {
    result = stage(request, *base, *config, staging, next);
  }
  QV_TRY(base->check());  // edits were made of the rows that are there
  return commit(staging, next);
}

Result<> Shard::commit(const Staging& staging, Seq next) {
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
  next_seq_ = next;  // numbers of a failed write are never used again
  return store_->write(batch);
}

/// From the commit until it is published nothing may throw: rows applied in part, or columns of
/// different lengths, would be covered by the next manifest, and their operations trimmed. So the
/// process ends, and the next start reads those operations again.
void Shard::apply_committed(const Staging& staging) noexcept {
  run_whole("applying committed updates", [&] {
    apply_to_memory(staging);
    applied_seq_ = Seq{to_number(next_seq_) - 1};
    publish();
  });
}

void Shard::apply_to_memory(const Staging& staging) {
  if (staging.empty()) return;
  for (const auto& change : staging.changes()) {
    delete_in_memory(change.id);
    if (change.row != nullptr) mutable_->append(*change.row);
  }
  last_write_ = Clock::now();
  wants_tick_ = true;
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

bool Shard::is_full() const {
  const auto& optimizer = config_.load()->optimizer;
  return mutable_->n_rows() >= optimizer.seal_rows ||
         mutable_->data_bytes() >= optimizer.seal_bytes;
}

/// A segment that cannot be frozen grows on, and is tried again after the next update.
void Shard::freeze_if_full() {
  const auto frozen = guarded([this]() -> Result<> {
    freeze();
    publish();
    return {};
  });
  if (!frozen) note_failure(JobKind::kSeal, frozen.error());
}

void Shard::freeze() {
  if (mutable_->n_rows() == 0) return;
  const auto config = config_.load();
  auto next = std::make_unique<MutableSegment>(next_segment_, config->fields, config->indexes);
  State state;
  state.view.data = mutable_->snapshot();
  mutable_deleted_.resize(mutable_->n_rows());
  segments_.reserve(segments_.size() + 1);
  // Nothing below takes memory.
  state.deleted = std::exchange(mutable_deleted_, Bitset());
  state.n_deleted = std::exchange(n_mutable_deleted_, 0);
  state.changed = true;
  state.first_seq = mutable_->first_seq();
  segments_.push_back(std::move(state));
  mutable_ = std::move(next);
  ++next_segment_;
}

void Shard::publish() {
  auto set = std::make_shared<SegmentSet>();
  set->seq = applied_seq_;
  set->is_whole = !lost_rows_;
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

void Shard::publish_soon() noexcept {
  const auto published = guarded([this]() -> Result<> {
    publish();
    return {};
  });
  if (published) return;
  catch_up_ = true;
  note_failure(JobKind::kHousekeeping, published.error());
}

/// Without memory the status stays as it was; the next tick tries again.
void Shard::update_status() noexcept try {
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
} catch (...) {
  log_exception("the status of a shard");
  wants_tick_ = true;
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

void Shard::tick() noexcept {
  run_logged("a tick", [this] {
    if ((wants_tick_ || is_drift_due() || has_damage()) && !closed_) {
      lane_->post([this] { on_tick(); });
    }
  });
}

void Shard::on_tick() {
  if (closed_) return;
  mend();
  const auto done = guarded([this]() -> Result<> {
    keep_house();
    return {};
  });
  start_due_jobs();
  if (!done) return note_failure(JobKind::kHousekeeping, done.error());
  note_recovery(JobKind::kHousekeeping);
  update_status();
  if (is_idle() && leftovers_.empty() && !sealing_ && !optimizing_ && !reclaiming_ &&
      !status().optimizing && store_->takes_writes()) {
    wants_tick_ = false;
  }
}

/// True if the store takes writes, again if need be.
bool Shard::repair_store() {
  if (store_->takes_writes()) return true;
  if (Clock::now() < retry_after_) return false;
  if (auto repaired = store_->write({}); !repaired) {
    note_failure(JobKind::kWriteStore, repaired.error());
    return false;
  }
  note_recovery(JobKind::kWriteStore);
  retry_after_ = {};
  return true;
}

void Shard::keep_house() {
  if (!repair_store()) return;
  if (catch_up_) {
    apply_config();
    catch_up_ = false;
    build_columns();
  }
  if (is_idle()) {
    if (is_worth_sealing(*mutable_) || !damaged_.empty()) {
      freeze();
      publish();
    }
    save_deletes();
  }
  remove_leftovers();
  if (is_drift_due()) check_drift();
  if (Clock::now() - last_write_ >= kReclaimIdle) start_reclaim();
}

bool Shard::is_idle() const {
  const double idle_s = std::chrono::duration<double>(Clock::now() - last_write_).count();
  return idle_s >= config_.load()->optimizer.idle_seal_s;
}

void Shard::note_failure(JobKind what, const Error& error) noexcept {
  retry_after_ = Clock::now() + kRetryDelay;
  wants_tick_ = true;
  failed_work_ = what;
  try {
    last_error_ = fmt::format("{}: {}", to_string(what), error.message());
    failures_.log(LogLevel::kError, to_string(what), fmt::format("shard {}: {}", path_, last_error_));
  } catch (...) {
    last_error_ = "out of memory";  // so short that it takes none
    log_exception(to_string(what));
  }
  update_status();
}

void Shard::note_success(JobKind what) noexcept {
  if (failed_work_ != JobKind::kSeal || what == JobKind::kSeal) last_error_.clear();
}

void Shard::note_recovery(JobKind what) noexcept {
  if (failed_work_ == what) last_error_.clear();
}

Result<> Shard::close() {
  {
    MutexLock lock(queue_mutex_);
    if (closed_.exchange(true)) return {};
  }
  bool ended = lane_->drain_for(context_.close_patience);
  closing_.cancel();
  if (store_ != nullptr) store_->cancel_reclaim();
  ended = wait_for_background(context_.close_patience) && ended;
  if (!ended || !lane_->drain_for(context_.close_patience)) {
    return fail(Code::kDeadlineExceeded,
                fmt::format("shard {} is not closed, {} s after the work that still runs was "
                            "cancelled: {}",
                            path_, std::chrono::duration<double>(context_.close_patience).count(),
                            running_work()));
  }
  return store_ == nullptr ? Result<>() : store_->close();
}

}  // namespace quiver::engine
