// Vector indexes of a shard's sealed segments: docs/decisions/0014.
#include <utility>

#include "base/log.h"
#include "engine/shard.h"

namespace quiver::engine {

IndexPolicy Shard::index_policy() const {
  return engine::index_policy(context_.choose_index, config_.load());
}

void Shard::start_index(std::uint64_t segment) {
  auto job = std::make_shared<IndexJob>();
  job->number = next_segment_++;  // unlike that of any other job
  job->name = "index";
  for (State& state : segments_) {
    if (state.view.data->id != segment) continue;
    state.busy = true;
    job->anew = state.drifted;
    job->inputs.push_back(state.view);
    job->n_rows = state.view.n_live();
  }
  jobs_.add(job);
  update_status();
  run_in_background(Priority::kLow, [this, job] {
    const auto policy = index_policy();
    auto built = build_indexes(
        *job->inputs.front().data, *segments_directory_,
        {policy, closing_, context_.background, [&job](double share) { job->set_done(share); },
         context_.queries.get(), job->anew});
    if (built) {
      job->built = *std::move(built);
    } else {
      job->result = fail(built.error());
    }
    lane_->post([this, job] { finish_index(*job); });
  });
}

void Shard::finish_index(IndexJob& job) {
  optimizing_ = false;
  for (State& state : segments_) {
    if (state.view.data->id != job.inputs.front().data->id) continue;
    state.busy = false;
    if (!job.result) break;
    auto data = std::make_shared<SegmentData>(*state.view.data);
    install_indexes(*data, std::exchange(job.built, {}));
    state.view.data = std::move(data);
    state.index_damaged = false;
    state.drifted.clear();
    drop_unwanted_indexes(state);  // the configuration may have changed meanwhile
  }
  if (job.result) {
    note_success(job.name);
  } else if (!closed_) {
    note_failure(job.name, job.result.error());
  }
  jobs_.finish(job, job.result);
  job.inputs.clear();
  publish();
  start_due_jobs();
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

bool Shard::may_have_drifted() const {
  return context_.queries != nullptr && context_.queries->n_seen() >= drift_due_at_;
}

void Shard::check_drift() {
  drift_due_at_ = 2 * context_.queries->n_seen();
  run_in_background(Priority::kLow, [this, segments = snapshot_.load()] {
    for (const Segment& segment : segments->segments) {
      auto drifted = drifted_fields(segment, *context_.queries, closing_);
      if (!drifted) {
        if (!closed_) log_warning("shard {}: drift: {}", path_, drifted.error().message());
        return;
      }
      if (drifted->empty()) continue;
      lane_->post([this, id = segment.data->id, fields = *std::move(drifted)] {
        for (State& state : segments_) {
          if (state.view.data->id == id) state.drifted = fields;
        }
        update_status();
        start_due_jobs();
      });
    }
  });
}

/// Without an index the output is complete too, and it is built by a job of its own.
Result<> Shard::index_output(RewriteJob& job) {
  const auto policy = index_policy();
  auto built = build_indexes(
      *job.output, *segments_directory_,
      {policy, closing_, context_.background,
       [&job](double share) { job.set_done(kShareOfRows + share * (1 - kShareOfRows)); },
       context_.queries.get()});
  QV_TRY(closing_.check());
  if (built) {
    install_indexes(*job.output, *std::move(built));
  } else {
    log_warning("shard {}: {}: {}", path_, job.name, built.error().message());
  }
  return {};
}

}  // namespace quiver::engine
