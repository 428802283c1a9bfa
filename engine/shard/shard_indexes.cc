// Vector indexes of a shard's sealed segments: docs/decisions/0014.
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/shard/shard.h"

namespace quiver::engine {

IndexPolicy Shard::index_policy() const {
  return engine::index_policy(context_.choose_index, config_.load());
}

void Shard::start_index(std::uint64_t segment) {
  auto job = std::make_shared<IndexJob>();
  job->number = next_segment_++;  // unlike that of any other job
  job->kind = JobKind::kIndex;
  for (const State& state : segments_) {
    if (state.view.data->id != segment) continue;
    job->anew = state.fit.next_drifted();
    job->inputs.push_back(state.view);
    job->n_rows = state.view.n_live();
  }
  run_in_background(
      Priority::kLow, job->kind, [this, job] { return build(*job); },
      [this, job](Result<> result) { finish_index(*job, std::move(result)); });
  note_started(job);
}

Result<> Shard::build(IndexJob& job) {
  const auto policy = index_policy();
  QV_TRY(job.built, build_indexes(*job.inputs.front().data, *segments_directory_,
                                  {policy, closing_, context_.background,
                                   [&job](double share) { job.set_done(share); },
                                   context_.queries.get(), job.anew}));
  return {};
}

void Shard::finish_index(IndexJob& job, Result<> result) noexcept {
  is_running(job) = false;
  set_busy(job, false);
  if (result) {
    result = guarded([&]() -> Result<> {
      install_index(job);
      return {};
    });
  }
  if (result) {
    note_success(job.kind);
  } else if (!closed_) {
    note_failure(job.kind, result.error());
  }
  jobs_.finish(job, result);
  job.inputs.clear();
  publish_soon();
  start_due_jobs();
}

void Shard::install_index(IndexJob& job) {
  for (State& state : segments_) {
    if (state.view.data->id != job.inputs.front().data->id) continue;
    auto data = std::make_shared<SegmentData>(*state.view.data);
    install_indexes(*data, std::exchange(job.built, {}));
    state.view.data = std::move(data);
    state.index_damaged = false;
    if (job.anew) state.fit.note_rebuilt(*job.anew);
    drop_unwanted_indexes(state);  // the configuration may have changed meanwhile
  }
}

void Shard::drop_unwanted_indexes(State& state) {
  const auto fields = unwanted_indexes(*state.view.data, index_policy());
  if (fields.empty()) return;
  auto data = std::make_shared<SegmentData>(*state.view.data);
  auto directory = segments_directory_->open_subdirectory(std::to_string(data->id));
  for (const std::size_t field : fields) {
    uninstall_index(*data, field);
    if (directory) remove_indexes(**directory, field);
  }
  state.view.data = std::move(data);
}

bool Shard::is_drift_due() const {
  return context_.queries != nullptr && context_.queries->n_seen() >= drift_due_at_ &&
         config_.load()->optimizer.max_threads != 0;
}

void Shard::check_drift() {
  if (measuring_drift_) return;
  run_in_background(
      Priority::kLow, JobKind::kMeasureDrift,
      [this, segments = snapshot_.load()] {
        measure_drift(*segments);
        return Result<>();
      },
      [this](const Result<>& result) {
        measuring_drift_ = false;
        drift_due_at_ = next_drift_check(context_.queries->n_seen());
        if (!result) log_warning("shard {}: drift: {}", path_, result.error().message());
      });
  measuring_drift_ = true;
}

void Shard::measure_drift(const SegmentSet& segments) {
  for (std::size_t field = 0; field < config_.load()->fields.size(); ++field) {
    const auto sample = context_.queries->sample(field);
    for (const Segment& segment : segments.segments) {
      if (closed_ || field >= segment.data->fields.size()) break;
      auto fit = measure_fit(segment, field, sample, closing_);
      if (!fit) {
        if (!closed_) log_warning("shard {}: drift: {}", path_, fit.error().message());
      } else if (*fit) {
        lane_->post([this, fit = **fit] { note_drift(fit); });
      }
    }
  }
}

void Shard::note_drift(const MeasuredFit& fit) {
  for (State& state : segments_) {
    const auto& data = *state.view.data;
    // Another index may have come in the place of the one that was measured.
    if (data.id != fit.segment || data.searchers[fit.field] != fit.searcher) continue;
    if (!state.fit.note_measured(fit.field, fit.recall)) continue;
    log_info(
        "shard {}: segment {}: field `{}`: usual searches find {:.3f} of what is asked; its index "
        "is built anew",
        path_, data.id, data.fields[fit.field].schema.name, fit.recall);
    wants_tick_ = true;
    update_status();
    start_due_jobs();
  }
}

/// Without an index the output is complete too, and it is built by a job of its own.
Result<> Shard::index_output(RewriteJob& job) {
  const auto policy = index_policy();
  auto built = build_indexes(
      *job.output, *segments_directory_,
      {policy,
       closing_,
       context_.background,
       [&job](double share) { job.set_done(kShareOfRows + share * (1 - kShareOfRows)); },
       context_.queries.get(),
       {},
       job.inputs});
  QV_TRY(closing_.check());
  if (built) {
    install_indexes(*job.output, *std::move(built));
  } else {
    log_warning("shard {}: {}: {}", path_, to_string(job.kind), built.error().message());
  }
  return {};
}

}  // namespace quiver::engine
