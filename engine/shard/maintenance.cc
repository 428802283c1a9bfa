#include "engine/shard/maintenance.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/observe/failure.h"

namespace quiver::engine {
namespace {

/// The store is compacted when this many rows were dropped, and this share of the live ones.
constexpr std::uint64_t kMinDroppedRows = 10'000;
constexpr double kMinDroppedShare = 0.25;
/// Time without writes before the store is compacted.
constexpr auto kCompactIdle = std::chrono::seconds(1);

}  // namespace

void Maintenance::start_due_jobs() noexcept {
  parts_.memory.start();
  parts_.on_devices.update();
  if (common_.closed || !parts_.status.may_retry()) return;
  const auto started = guarded([this]() -> Result<> {
    start_jobs();
    return {};
  });
  if (!started) parts_.status.note_failure(JobKind::kStartJobs, started.error());
}

void Maintenance::start_jobs() {
  WorkStatus& status = parts_.status;
  const auto config = common_.config.load();
  const OptimizerConfig& optimizer = config->optimizer;
  if (!status.is_running(JobKind::kSeal)) {
    if (const auto plan = plan_seal(status.facts())) (void)parts_.rewrites.start(*plan);
  }
  if (status.is_running(JobKind::kMerge) || optimizer.max_threads == 0) return;
  const auto facts = status.facts();
  // What has to wait for memory leaves the turn to what may need less.
  if (const auto plan = plan_rewrite(facts, optimizer)) {
    if (parts_.rewrites.start(*plan)) return;
  }
  if (is_idle() && !parts_.bulk.is_open()) {
    const auto plan = plan_idle_merge(facts, optimizer);
    if (plan && parts_.rewrites.start(*plan)) return;
  }
  if (const auto segment = plan_index(facts)) (void)parts_.indexes.start(*segment);
}

void Maintenance::note_write() {
  last_write_ = Clock::now();
  common_.wants_tick = true;
}

void Maintenance::freeze() noexcept {
  const auto frozen = guarded([this]() -> Result<> {
    parts_.table.freeze();
    parts_.status.publish();
    return {};
  });
  if (!frozen) parts_.status.note_failure(JobKind::kSeal, frozen.error());
}

void Maintenance::tick() {
  WorkStatus& status = parts_.status;
  const auto done = guarded([this]() -> Result<> {
    keep_house();
    return {};
  });
  start_due_jobs();
  if (!done) return status.note_failure(JobKind::kHousekeeping, done.error());
  status.note_recovery(JobKind::kHousekeeping);
  status.update();
  if (is_idle() && !parts_.manifest.has_leftovers() && !status.is_any_running() &&
      !status.status().optimizing && common_.store().takes_writes() && !is_cleaning_ &&
      !must_compact_ && !parts_.on_devices.is_waiting()) {
    common_.wants_tick = false;
  }
}

void Maintenance::keep_house() {
  if (!repair_store()) return;
  catch_up();
  if (is_idle()) {
    seal_idle();
    save_deletes();
  }
  parts_.manifest.remove_leftovers();
  if (parts_.indexes.is_drift_due()) parts_.indexes.check_drift();
  start_cleaning();
  if (must_compact_ || Clock::now() - last_write_ >= kCompactIdle) start_compaction();
}

bool Maintenance::repair_store() {
  WorkStatus& status = parts_.status;
  if (common_.store().takes_writes()) return true;
  if (!status.may_retry()) return false;
  if (auto repaired = common_.store().write({}); !repaired) {
    status.note_failure(JobKind::kWriteStore, repaired.error());
    return false;
  }
  status.note_recovery(JobKind::kWriteStore);
  status.retry_now();
  return true;
}

void Maintenance::catch_up() {
  if (!parts_.status.must_catch_up()) return;
  parts_.columns.apply_config();
  parts_.status.set_must_catch_up(false);
  parts_.columns.build();
}

void Maintenance::seal_idle() {
  if (!parts_.table.is_worth_sealing() && parts_.table.damaged().ids.empty()) return;
  parts_.table.freeze();
  parts_.status.publish();
}

void Maintenance::save_deletes() {
  if (!parts_.manifest.has_unsaved_deletes()) return;
  if (auto saved = parts_.manifest.save(); !saved) {
    parts_.status.note_failure(JobKind::kSaveDeletes, saved.error());
  } else {
    parts_.status.note_success(JobKind::kSaveDeletes);
  }
}

bool Maintenance::is_idle() const {
  const double idle_s = std::chrono::duration<double>(Clock::now() - last_write_).count();
  return idle_s >= common_.config.load()->optimizer.idle_seal_s;
}

void Maintenance::start_cleaning() {
  if (is_cleaning_ || must_compact_ || parts_.bulk.is_open() || !parts_.status.may_retry()) return;
  const auto due = parts_.dropped.is_due();
  if (!due) return parts_.status.note_failure(JobKind::kHousekeeping, due.error());
  is_cleaning_ = *due && common_.lane.post([this] { clean(); });
}

void Maintenance::clean() noexcept {
  is_cleaning_ = false;
  if (common_.closed) return;
  const auto cleaned = guarded([this]() -> Result<> {
    QV_TRY(const bool is_over, parts_.dropped.step());
    must_compact_ = is_over;
    is_cleaning_ = !is_over && common_.lane.post([this] { clean(); });
    return {};
  });
  if (!cleaned) parts_.status.note_failure(JobKind::kHousekeeping, cleaned.error());
}

void Maintenance::start_compaction() {
  WorkStatus& status = parts_.status;
  const auto n_live = static_cast<double>(parts_.table.snapshot()->n_live());
  const auto limit =
      std::max(kMinDroppedRows, static_cast<std::uint64_t>(kMinDroppedShare * n_live));
  const std::uint64_t n_dropped = parts_.table.n_rows_dropped();
  const bool is_due = must_compact_ || n_dropped >= limit;
  if (status.is_running(JobKind::kCompactStore) || !is_due || !status.may_retry()) return;
  auto job = std::make_shared<Job>();
  job->kind = JobKind::kCompactStore;
  job->n_rows = n_dropped;
  common_.background.run(
      Priority::kLow, job->kind, [this] { return common_.store().reclaim(); },
      [this, job](const Result<>& result) { end_compaction(*job, result); });
  status.started(job);
  is_compacting_cleaned_ = must_compact_;
}

void Maintenance::end_compaction(const Job& job, const Result<>& result) {
  WorkStatus& status = parts_.status;
  status.ended(job);
  parts_.table.forget_dropped(job.n_rows);
  const bool is_cleaned = std::exchange(is_compacting_cleaned_, false);
  auto ended = result;
  if (ended && is_cleaned && !common_.closed) {
    ended = guarded([this] { return parts_.dropped.note_done(); });
    must_compact_ = !ended;
  }
  if (ended) status.note_success(job.kind);
  if (!ended && !common_.closed) status.note_failure(job.kind, ended.error());
  status.update();
}

}  // namespace quiver::engine
