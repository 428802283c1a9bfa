// Background work of a shard: sealing, merging, cleaning, and compacting the store.
#include <fmt/format.h>

#include <algorithm>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/segment/sealing.h"
#include "engine/shard/shard.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kMinReclaimRows = 10'000;
constexpr double kReclaimShare = 0.25;

}  // namespace

void Shard::start_due_jobs() noexcept {
  if (closed_ || Clock::now() < retry_after_) return;
  const auto started = guarded([this]() -> Result<> {
    start_jobs();
    return {};
  });
  if (!started) note_failure(JobKind::kStartJobs, started.error());
}

void Shard::start_jobs() {
  const auto& optimizer = config_.load()->optimizer;
  if (!sealing_) {
    if (auto plan = plan_seal(segment_facts())) start_rewrite(*std::move(plan));
  }
  if (optimizing_ || optimizer.max_threads == 0) return;
  const auto facts = segment_facts();
  if (auto plan = plan_rewrite(facts, optimizer)) {
    start_rewrite(*std::move(plan));
  } else if (auto merge = is_idle() && !bulk_ ? plan_idle_merge(facts, optimizer) : std::nullopt) {
    start_rewrite(*std::move(merge));
  } else if (const auto segment = plan_index(facts)) {
    start_index(*segment);
  }
}

bool& Shard::is_running(const Job& job) { return job.kind == JobKind::kSeal ? sealing_ : optimizing_; }

/// After its work was posted: from here on its end is sure to come.
void Shard::note_started(const std::shared_ptr<const Job>& job) noexcept {
  is_running(*job) = true;
  set_busy(*job, true);
  jobs_.add(job);
  update_status();
}

void Shard::start_rewrite(RewritePlan plan) {
  auto job = std::make_shared<RewriteJob>();
  job->number = job->output_id = next_segment_++;
  job->kind = plan.kind;
  job->indexes = config_.load()->indexes;
  for (const State& state : segments_) {
    const bool chosen = std::find(plan.segments.begin(), plan.segments.end(),
                                  state.view.data->id) != plan.segments.end();
    if (!chosen) continue;
    job->inputs.push_back(state.view);
    job->n_rows += state.view.n_live();
  }
  // Writers wait for a seal: it goes before merges and builds, which may take long.
  run_in_background(
      plan.kind == JobKind::kSeal ? Priority::kHigh : Priority::kLow, plan.kind,
      [this, job]() -> Result<> {
        job->rows = live_rows_by_id(job->inputs);
        return job->rows.empty() ? Result<>() : write_output(*job);
      },
      [this, job](Result<> result) { finish_rewrite(job, std::move(result)); });
  note_started(job);
}

/// A seal is short: its rows are indexed by a job of their own. Until a merge ends its inputs
/// answer with their indexes, so its output comes with one.
Result<> Shard::write_output(RewriteJob& job) {
  const auto config = config_.load();
  const bool with_indexes = job.kind != JobKind::kSeal && has_indexes(config->fields, index_policy());
  const double share_of_rows = with_indexes ? kShareOfRows : 1;
  const NewSegment segment{job.output_id, job.inputs, job.rows, job.indexes};
  QV_TRY(job.output, write_segment(segment, *segments_directory_, config->fields, closing_,
                                   [&](double share) { job.set_done(share * share_of_rows); }));
  return with_indexes ? index_output(job) : Result<>();
}

void Shard::finish_rewrite(const std::shared_ptr<RewriteJob>& job, Result<> result) noexcept {
  bool goes_on = false;
  if (result && !closed_) {
    result = guarded([&]() -> Result<> {
      goes_on = job->output && lacks_columns(*job->output, config_.load()->indexes);
      if (goes_on) add_columns(job);
      return {};
    });
    if (result && goes_on) return;
  }
  if (result) result = guarded([&] { return swap_in(*job); });
  end_rewrite(*job, result);
  start_due_jobs();
  wake_writers();
}

void Shard::end_rewrite(RewriteJob& job, const Result<>& result) noexcept {
  is_running(job) = false;
  jobs_.finish(job, result);
  if (result) {
    note_success(job.kind);
    run_logged("removing replaced segments", [&] {
      forget_damage();
      remove_inputs(job);
    });
  } else {
    abandon(job);
    if (!closed_) note_failure(job.kind, result.error());
  }
  job.inputs.clear();
  job.output.reset();
  update_status();
}

/// A payload index was created while the output was written, and may be in use: the output is
/// swapped in with its column too.
void Shard::add_columns(const std::shared_ptr<RewriteJob>& job) {
  auto add = [this, job, indexes = config_.load()->indexes]() -> Result<> {
    QV_TRY(auto columns, missing_columns(*job->output, indexes, *segments_directory_));
    for (auto& [key, column] : columns) job->output->columns[key] = std::move(column);
    return {};
  };
  run_in_background(Priority::kHigh, job->kind, std::move(add),
                    [this, job](Result<> result) { finish_rewrite(job, std::move(result)); });
}

Result<> Shard::swap_in(RewriteJob& job) {
  QV_TRY(check_inputs(job));
  std::optional<State> output;
  if (job.output) {
    output.emplace();
    output->view.data = std::make_shared<const SegmentData>(*std::move(job.output));
    output->deleted = Bitset(job.rows.size());
    carry_deletes(job, *output);
    drop_unwanted_indexes(*output);
  }
  QV_TRY(save_manifest(&job, output ? &*output : nullptr));
  // The manifest names the output now, and updates find rows by what is published.
  run_whole("swapping in a segment", [&] {
    replace_inputs(job, std::move(output));
    publish();
  });
  return {};
}

void Shard::replace_inputs(const RewriteJob& job, std::optional<State> output) {
  const auto first = std::find_if(segments_.begin(), segments_.end(), [&](const State& state) {
    return is_input(&job, state.view.data->id);
  });
  const auto position = first - segments_.begin();
  std::erase_if(segments_, [&](const State& state) { return is_input(&job, state.view.data->id); });
  if (output) segments_.insert(segments_.begin() + position, *std::move(output));
}

/// Rows that died while the job ran are dead in its output too.
void Shard::carry_deletes(const RewriteJob& job, State& output) {
  std::vector<const State*> inputs;
  for (const auto& input : job.inputs) {
    for (const State& state : segments_) {
      if (state.view.data->id == input.data->id) inputs.push_back(&state);
    }
  }
  for (std::uint32_t i = 0; i < job.rows.size(); ++i) {
    const RowRef& ref = job.rows[i];
    if (!inputs[ref.segment]->deleted.test(ref.row)) continue;
    output.deleted.set(i);
    ++output.n_deleted;
  }
  output.changed = output.n_deleted != 0;
}

/// Once every row that was rebuilt from the store is sealed again, damaged segments are history.
void Shard::forget_damage() {
  if (damaged_.empty() || mutable_->id() <= rebuild_barrier_) return;
  for (const State& state : segments_) {
    if (!state.view.data->sealed && state.view.data->id <= rebuild_barrier_) return;
  }
  const auto damaged = std::exchange(damaged_, {});
  if (auto saved = save_manifest(nullptr, nullptr, damaged); !saved) {
    damaged_ = damaged;
    note_failure(JobKind::kSaveManifest, saved.error());
    return;
  }
  for (const std::uint64_t id : damaged) remove_segment_directory(id);
}

void Shard::remove_inputs(const RewriteJob& job) {
  for (const auto& input : job.inputs) {
    if (input.data->sealed) remove_segment_directory(input.data->id);
  }
}

void Shard::abandon(const RewriteJob& job) noexcept {
  set_busy(job, false);
  run_logged("removing an unfinished segment", [&] { remove_segment_directory(job.output_id); });
}

void Shard::set_busy(const Job& job, bool busy) noexcept {
  for (const auto& input : job.inputs) {
    for (State& state : segments_) {
      if (state.view.data->id == input.data->id) state.busy = busy;
    }
  }
}

void Shard::remove_segment_directory(std::uint64_t id) {
  const std::string name = std::to_string(id);
  if (!segments_directory_->exists(name)) return;
  if (auto removed = segments_directory_->remove_subdirectory(name); !removed) {
    // A payload index may just be building a file in it: the next tick tries again.
    log_debug("shard {}: {}", path_, removed.error().message());
    leftovers_.push_back(id);
    wants_tick_ = true;
  }
}

void Shard::remove_leftovers() {
  for (const std::uint64_t id : std::exchange(leftovers_, {})) remove_segment_directory(id);
}

void Shard::wake_writers() {
  bool post = false;
  {
    MutexLock lock(queue_mutex_);
    post = !queue_.empty() && !std::exchange(drain_posted_, true);
  }
  if (post) lane_->post(Task::borrow(drain_task_));
}

void Shard::start_reclaim() {
  const auto n_live = snapshot_.load()->n_live();
  const auto limit = std::max(
      kMinReclaimRows, static_cast<std::uint64_t>(kReclaimShare * static_cast<double>(n_live)));
  if (reclaiming_ || n_rows_dropped_ < limit || Clock::now() < retry_after_) return;
  run_in_background(
      Priority::kLow, JobKind::kCompactStore, [this] { return store_->reclaim(); },
      [this, n_dropped = n_rows_dropped_](const Result<>& result) {
        reclaiming_ = false;
        n_rows_dropped_ -= n_dropped;
        if (result) note_success(JobKind::kCompactStore);
        if (!result && !closed_) note_failure(JobKind::kCompactStore, result.error());
        update_status();
      });
  reclaiming_ = true;
  update_status();
}

void Shard::run_in_background(Priority priority, JobKind what,
                              std::function<Result<>()> work,
                              std::function<void(Result<>)> finish) {
  // All that takes memory is made before anything runs.
  std::list<JobKind> entry{what};
  const auto place = entry.begin();
  auto outcome = std::make_shared<Result<>>();
  Task end([finish = std::move(finish), outcome] { finish(std::move(*outcome)); });
  Task task([this, work = std::move(work), end = std::move(end), outcome, place]() mutable {
    *outcome = guarded(work);
    lane_->post(std::move(end));
    end_background(place);
  });
  {
    MutexLock lock(background_mutex_);
    background_.splice(background_.end(), entry);
  }
  if (!context_.background->post(priority, std::move(task))) end_background(place);
}

void Shard::end_background(std::list<JobKind>::iterator place) noexcept {
  MutexLock lock(background_mutex_);
  background_.erase(place);
  background_done_.notify_all();
}

bool Shard::wait_for_background(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  MutexLock lock(background_mutex_);
  while (!background_.empty()) {
    const auto left = end - Clock::now();
    if (left <= left.zero()) return false;
    background_done_.wait_for(background_mutex_, left);
  }
  return true;
}

std::string Shard::running_work() {
  MutexLock lock(background_mutex_);
  std::vector<std::string_view> names;
  for (const JobKind kind : background_) names.push_back(to_string(kind));
  return names.empty() ? "updates" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace quiver::engine
