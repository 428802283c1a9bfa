#include "engine/shard/work_status.h"

#include <fmt/format.h>

#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"

namespace quiver::engine {
namespace {

/// The status counts a coming idle seal or merge as work if idle seals wait at most this long.
constexpr double kSoonSealSeconds = 10;
constexpr auto kRetryDelay = std::chrono::seconds(5);

}  // namespace

std::shared_ptr<const Job>& WorkStatus::running(JobKind kind) {
  if (kind == JobKind::kSeal) return sealing_;
  return kind == JobKind::kCompactStore ? compacting_ : optimizing_;
}

bool WorkStatus::is_any_running() const {
  return sealing_ != nullptr || optimizing_ != nullptr || compacting_ != nullptr;
}

void WorkStatus::started(const std::shared_ptr<const Job>& job) noexcept {
  running(job->kind) = job;
  if (job->kind != JobKind::kSeal) waits_.clear();
  table_.set_busy(job->inputs, true);
  if (job->kind != JobKind::kCompactStore) history_.add(job);
  update();
}

void WorkStatus::note_failure(JobKind kind, const Error& error) noexcept {
  retry_after_ = Clock::now() + kRetryDelay;
  common_.wants_tick = true;
  failed_work_ = kind;
  try {
    last_error_ = fmt::format("{}: {}", to_string(kind), error.message());
    failures_.log(LogLevel::kError, to_string(kind),
                  fmt::format("shard {}: {}", common_.path, last_error_));
  } catch (...) {
    last_error_ = "out of memory";  // so short that it takes none
    log_exception(to_string(kind));
  }
  update();
}

void WorkStatus::note_waiting(const Error& error) noexcept {
  common_.wants_tick = true;
  run_logged("a job that waits for memory", [&] {
    waits_ = error.message();
    failures_.log(LogLevel::kWarning, "waits for memory",
                  fmt::format("shard {}: {}", common_.path, waits_));
  });
}

void WorkStatus::note_success(JobKind kind) noexcept {
  if (failed_work_ != JobKind::kSeal || kind == JobKind::kSeal) last_error_.clear();
}

void WorkStatus::note_recovery(JobKind kind) noexcept {
  if (failed_work_ == kind) last_error_.clear();
}

void WorkStatus::publish() {
  table_.publish();
  update();
}

void WorkStatus::publish_soon() noexcept {
  const auto published = guarded([this]() -> Result<> {
    publish();
    return {};
  });
  if (published) return;
  must_catch_up_ = true;
  note_failure(JobKind::kHousekeeping, published.error());
}

std::vector<SegmentFacts> WorkStatus::facts() const {
  const auto policy = index_policy();
  std::vector<SegmentFacts> facts;
  for (const SegmentState& state : std::as_const(table_).segments()) {
    const auto& data = *state.view.data;
    facts.push_back({data.id, data.sealed, state.busy, data.n_rows, state.n_deleted,
                     data.data_bytes(), !missing_indexes(data, policy).empty(),
                     drifted_field(data.id).has_value(), may_gain_by_merging(data, policy),
                     data.holds_dropped});
  }
  return facts;
}

std::optional<std::size_t> WorkStatus::drifted_field(std::uint64_t segment) const {
  const auto fits = fits_.find(segment);
  return fits == fits_.end() ? std::nullopt : fits->second.next_drifted();
}

void WorkStatus::forget_fits_of_removed() {
  std::erase_if(fits_, [this](const auto& entry) { return table_.find(entry.first) == nullptr; });
}

bool WorkStatus::is_work_due() const {
  const auto& optimizer = common_.config.load()->optimizer;
  const bool is_soon = optimizer.idle_seal_s <= kSoonSealSeconds;
  if (is_soon && table_.is_worth_sealing()) return true;
  const auto known = facts();
  if (plan_seal(known)) return true;
  if (optimizer.max_threads == 0) return false;
  return plan_rewrite(known, optimizer) || plan_index(known) ||
         (is_soon && plan_idle_merge(known, optimizer));
}

void WorkStatus::update() noexcept try {
  const auto set = table_.snapshot();
  ShardStatus status;
  status.n_live = set->n_live();
  status.n_segments = set->segments.size();
  for (const auto& segment : set->segments) {
    if (segment.data->sealed) status.n_sealed_rows += segment.n_live();
  }
  status.optimizing = is_any_running() || is_work_due();
  status.n_damaged = table_.damaged().ids.size();
  for (const SegmentState& state : std::as_const(table_).segments()) {
    status.n_damaged_indexes += state.index_damaged ? 1 : 0;
  }
  status.error = last_error_;
  if (!status.optimizing) waits_.clear();
  status.waits = waits_;
  MutexLock lock(mutex_);
  status_ = std::move(status);
} catch (...) {
  log_exception("the status of a shard");
  common_.wants_tick = true;
}

ShardStatus WorkStatus::status() const {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace quiver::engine
