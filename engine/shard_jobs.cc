// Background work of a shard: sealing, merging, cleaning, and compacting the store.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "engine/sealing.h"
#include "engine/shard.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kMinReclaimRows = 10'000;
constexpr double kReclaimShare = 0.25;

}  // namespace

void Shard::start_due_jobs() {
  if (closed_ || Clock::now() < retry_after_) return;
  const auto& optimizer = config_.load()->optimizer;
  if (!sealing_) {
    if (auto plan = plan_seal(segment_facts())) {
      sealing_ = true;
      start_rewrite(*std::move(plan));
    }
  }
  if (optimizing_ || optimizer.max_threads == 0) return;
  const auto facts = segment_facts();
  if (auto plan = plan_rewrite(facts, optimizer)) {
    optimizing_ = true;
    start_rewrite(*std::move(plan));
  } else if (auto merge = is_idle() && !bulk_ ? plan_idle_merge(facts, optimizer) : std::nullopt) {
    optimizing_ = true;
    start_rewrite(*std::move(merge));
  } else if (const auto segment = plan_index(facts)) {
    optimizing_ = true;
    start_index(*segment);
  }
}

void Shard::start_rewrite(RewritePlan plan) {
  auto job = std::make_shared<RewriteJob>();
  job->number = job->output_id = next_segment_++;
  job->name = plan.name;
  job->indexes = config_.load()->indexes;
  for (State& state : segments_) {
    const bool chosen = std::find(plan.segments.begin(), plan.segments.end(),
                                  state.view.data->id) != plan.segments.end();
    if (!chosen) continue;
    state.busy = true;
    job->inputs.push_back(state.view);
    job->n_rows += state.view.n_live();
  }
  jobs_.add(job);
  update_status();
  // Writers wait for a seal: it goes before merges and builds, which may take long.
  run_in_background(plan.name == "seal" ? Priority::kHigh : Priority::kLow, [this, job] {
    job->rows = live_rows_by_id(job->inputs);
    if (!job->rows.empty()) job->result = write_output(*job);
    lane_->post([this, job] { finish_rewrite(job); });
  });
}

/// A seal is short: its rows are indexed by a job of their own. Until a merge ends its inputs
/// answer with their indexes, so its output comes with one.
Result<> Shard::write_output(RewriteJob& job) {
  const auto config = config_.load();
  const bool with_indexes = job.name != "seal" && has_indexes(config->fields, index_policy());
  const double share_of_rows = with_indexes ? kShareOfRows : 1;
  const NewSegment segment{job.output_id, job.inputs, job.rows, job.indexes};
  QV_TRY(job.output, write_segment(segment, *segments_directory_, config->fields, closing_,
                                   [&](double share) { job.set_done(share * share_of_rows); }));
  return with_indexes ? index_output(job) : Result<>();
}

void Shard::finish_rewrite(const std::shared_ptr<RewriteJob>& job) {
  if (!closed_ && job->result && job->output &&
      lacks_columns(*job->output, config_.load()->indexes)) {
    return add_columns(job);
  }
  Result<> result = std::move(job->result);
  if (result) result = swap_in(*job);
  (job->name == "seal" ? sealing_ : optimizing_) = false;
  if (result) {
    note_success(job->name);
    remove_inputs(*job);
  } else {
    abandon(*job);
    if (!closed_) note_failure(job->name, result.error());
  }
  jobs_.finish(*job, result);
  job->inputs.clear();
  job->output.reset();
  publish();
  start_due_jobs();
  wake_writers();
}

/// A payload index was created while the output was written, and may be in use: the output is
/// swapped in with its column too.
void Shard::add_columns(const std::shared_ptr<RewriteJob>& job) {
  auto add = [this, job, indexes = config_.load()->indexes] {
    auto columns = missing_columns(*job->output, indexes, *segments_directory_);
    if (columns) {
      for (auto& [key, column] : *columns) job->output->columns[key] = std::move(column);
    } else {
      job->result = fail(columns.error());
    }
    lane_->post([this, job] { finish_rewrite(job); });
  };
  run_in_background(Priority::kHigh, std::move(add));
}

Result<> Shard::swap_in(RewriteJob& job) {
  std::optional<State> output;
  if (job.output) {
    output.emplace();
    output->view.data = std::make_shared<const SegmentData>(*std::move(job.output));
    output->deleted = Bitset(job.rows.size());
    carry_deletes(job, *output);
    drop_unwanted_indexes(*output);
  }
  QV_TRY(save_manifest(&job, output ? &*output : nullptr));
  const auto first = std::find_if(segments_.begin(), segments_.end(), [&](const State& state) {
    return is_input(&job, state.view.data->id);
  });
  const auto position = first - segments_.begin();
  std::erase_if(segments_, [&](const State& state) { return is_input(&job, state.view.data->id); });
  if (output) segments_.insert(segments_.begin() + position, *std::move(output));
  forget_damage();
  return {};
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
    note_failure("saving the manifest", saved.error());
    return;
  }
  for (const std::uint64_t id : damaged) remove_segment_directory(id);
}

void Shard::remove_inputs(const RewriteJob& job) {
  for (const auto& input : job.inputs) {
    if (input.data->sealed) remove_segment_directory(input.data->id);
  }
}

void Shard::abandon(const RewriteJob& job) {
  remove_segment_directory(job.output_id);
  for (State& state : segments_) {
    if (is_input(&job, state.view.data->id)) state.busy = false;
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
  if (post) lane_->post([this] { drain(); });
}

void Shard::start_reclaim() {
  const auto n_live = snapshot_.load()->n_live();
  const auto limit = std::max(
      kMinReclaimRows, static_cast<std::uint64_t>(kReclaimShare * static_cast<double>(n_live)));
  if (reclaiming_ || n_rows_dropped_ < limit || Clock::now() < retry_after_) return;
  reclaiming_ = true;
  update_status();
  run_in_background(Priority::kLow, [this, n_dropped = n_rows_dropped_] {
    auto result = store_->reclaim();
    lane_->post([this, n_dropped, result = std::move(result)] {
      reclaiming_ = false;
      n_rows_dropped_ -= n_dropped;
      if (result) note_success("compacting the store");
      if (!result && !closed_) note_failure("compacting the store", result.error());
      update_status();
    });
  });
}

void Shard::run_in_background(Priority priority, Task task) {
  {
    MutexLock lock(background_mutex_);
    ++n_background_;
  }
  const bool posted =
      context_.background->post(priority, [this, task = std::make_shared<Task>(std::move(task))] {
        (*task)();
        end_background();
      });
  if (!posted) end_background();
}

void Shard::end_background() {
  MutexLock lock(background_mutex_);
  --n_background_;
  background_done_.notify_all();
}

void Shard::wait_for_background() {
  MutexLock lock(background_mutex_);
  while (n_background_ != 0) background_done_.wait(background_mutex_);
}

}  // namespace quiver::engine
