#include "engine/shard/index_work.h"

#include <fmt/format.h>

#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/indexing/build_memory.h"
#include "engine/indexing/unwanted_indexes.h"
#include "engine/shard/state/device_handover.h"

namespace quiver::engine {

bool IndexWork::start(std::uint64_t segment) {
  auto job = std::make_shared<IndexJob>();
  job->kind = JobKind::kIndex;
  if (const SegmentState* state = table_.find(segment)) {
    job->rebuilt = status_.drifted_field(segment);
    job->inputs.push_back(state->view);
    job->n_rows = state->view.n_live();
    auto memory = process_memory().promise(
        index_build_bytes(*state->view.data, status_.index_policy(), job->rebuilt),
        fmt::format("an index of {} rows", job->n_rows));
    if (!memory) {
      status_.note_waiting(memory.error());
      return false;
    }
    job->memory = *std::move(memory);
  }
  job->number = table_.take_segment_id();  // unlike that of any other job
  common_.background.run(
      Priority::kLow, job->kind, [this, job] { return build(*job); },
      [this, job](Result<> result) { finish(*job, std::move(result)); });
  status_.started(job);
  return true;
}

Result<> IndexWork::build(IndexJob& job) {
  const auto policy = status_.index_policy();
  QV_TRY(job.built, build_indexes(*job.inputs.front().data, common_.segments(),
                                  {policy,
                                   common_.closing,
                                   context_.background,
                                   [&job](double share) { job.set_done(share); },
                                   context_.queries.get(),
                                   job.rebuilt,
                                   {},
                                   context_.devices}));
  return hold_built(job);
}

/// Searches by the new indexes find on devices what they find there of other segments.
Result<> IndexWork::hold_built(const IndexJob& job) const {
  if (context_.devices == nullptr) return {};
  const auto config = common_.config.load();
  const auto others = table_.snapshot();
  for (const BuiltFieldIndex& built : job.built) {
    const auto& name = job.inputs.front().data->fields[built.field].schema.name;
    QV_TRY(hold_as_others(*context_.devices, *config, others->segments, {name, *built.searcher},
                          common_.closing));
  }
  return {};
}

void IndexWork::finish(IndexJob& job, Result<> result) noexcept {
  status_.ended(job);
  job.memory = MemoryPromise();
  table_.set_busy(job.inputs, false);
  if (result) {
    result = guarded([&]() -> Result<> {
      install(job);
      return {};
    });
  }
  if (result) {
    status_.note_success(job.kind);
  } else if (!common_.closed) {
    status_.note_failure(job.kind, result.error());
  }
  status_.record(job, result);
  job.inputs.clear();
  status_.publish_soon();
  job_ended_();
}

void IndexWork::install(IndexJob& job) {
  SegmentState* state = table_.find(job.inputs.front().data->id);
  if (state == nullptr) return;
  auto data = std::make_shared<SegmentData>(*state->view.data);
  install_indexes(*data, std::exchange(job.built, {}));
  state->view.data = std::move(data);
  state->index_damaged = false;
  if (job.rebuilt) status_.fits(state->id()).note_rebuilt(*job.rebuilt);
  // The configuration may have changed meanwhile.
  state->view.data =
      without_unwanted_indexes(state->view.data, common_.segments(), status_.index_policy());
}

void IndexWork::start_counting_queries() {
  if (context_.queries != nullptr) drift_due_at_ = next_drift_check(context_.queries->n_seen());
}

bool IndexWork::is_drift_due() const {
  return context_.queries != nullptr && context_.queries->n_seen() >= drift_due_at_ &&
         common_.config.load()->optimizer.max_threads != 0;
}

void IndexWork::check_drift() {
  if (measuring_) return;
  common_.background.run(
      Priority::kLow, JobKind::kMeasureDrift,
      [this, segments = table_.snapshot()] {
        measure(*segments);
        return Result<>();
      },
      [this](const Result<>& result) {
        measuring_.reset();
        drift_due_at_ = next_drift_check(context_.queries->n_seen());
        if (!result) log_warning("shard {}: drift: {}", common_.path, result.error().message());
      });
  measuring_.emplace().kind = JobKind::kMeasureDrift;
}

void IndexWork::measure(const SegmentSet& segments) {
  for (std::size_t field = 0; field < common_.config.load()->fields.size(); ++field) {
    const auto sample = context_.queries->sample(field);
    for (const Segment& segment : segments.segments) {
      if (common_.closed || field >= segment.data->fields.size()) break;
      auto fit = measure_fit(segment, field, sample, common_.closing);
      if (!fit) {
        if (!common_.closed) {
          log_warning("shard {}: drift: {}", common_.path, fit.error().message());
        }
      } else if (*fit) {
        common_.lane.post([this, fit = **fit] { note_measured(fit); });
      }
    }
  }
}

void IndexWork::note_measured(const MeasuredFit& fit) {
  status_.forget_fits_of_removed();
  const SegmentState* state = table_.find(fit.segment);
  if (state == nullptr) return;
  const auto& data = *state->view.data;
  // Another index may have come in the place of the one that was measured.
  if (data.searchers[fit.field] != fit.searcher) return;
  if (!status_.fits(data.id).note_measured(fit.field, fit.recall)) return;
  log_info(
      "shard {}: segment {}: field `{}`: usual searches find {:.3f} of what is asked; its index is "
      "rebuilt",
      common_.path, data.id, data.fields[fit.field].schema.name, fit.recall);
  common_.wants_tick = true;
  status_.update();
  job_ended_();
}

}  // namespace quiver::engine
