#include "engine/shard/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/io/write_watch.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/indexing/build_memory.h"
#include "engine/indexing/indexes.h"
#include "engine/indexing/unwanted_indexes.h"
#include "engine/segment/columns.h"
#include "engine/segment/fields.h"
#include "engine/segment/sealing.h"
#include "engine/segment/tenants.h"
#include "engine/shard/state/device_handover.h"

namespace quiver::engine {
namespace {

/// Writing the rows counts as this share of a rewrite that also builds indexes.
constexpr double kShareOfRows = 0.2;
/// Writers wait for a seal, and so does a device for it no longer than this.
constexpr auto kSealPatience = std::chrono::seconds(1);

}  // namespace

bool Rewrites::start(const RewritePlan& plan) {
  auto job = std::make_shared<RewriteJob>();
  job->kind = plan.kind;
  job->config = common_.config.load();
  for (const SegmentState& state : table_.segments()) {
    if (std::find(plan.segments.begin(), plan.segments.end(), state.id()) == plan.segments.end()) {
      continue;
    }
    job->inputs.push_back(state.view);
    job->n_rows += state.view.n_live();
  }
  if (plan.kind != JobKind::kSeal) {
    auto memory = process_memory().promise(
        merge_bytes(job->inputs),
        fmt::format("{} of {} segments", to_string(plan.kind), job->inputs.size()));
    if (!memory) {
      status_.note_waiting(memory.error());
      return false;
    }
    job->memory = *std::move(memory);
  }
  job->number = job->output_id = table_.take_segment_id();
  // Writers wait for a seal: it goes before merges and builds, which may take long.
  common_.background.run(
      plan.kind == JobKind::kSeal ? Priority::kHigh : Priority::kLow, plan.kind,
      [this, job]() -> Result<> {
        job->rows = live_rows_by_id(job->inputs);
        QV_TRY(group_by_tenant(job->rows, job->inputs, job->config->indexes));
        return job->rows.empty() ? Result<>() : write_output(*job);
      },
      [this, job](Result<> result) { finish(job, std::move(result)); });
  status_.started(job);
  return true;
}

/// A seal must be short, so another job builds its indexes. The inputs of a merge answer with their
/// indexes until it ends, so a merge builds the indexes of its output.
Result<> Rewrites::write_output(RewriteJob& job) {
  const auto& fields = job.config->fields;
  const bool with_indexes =
      job.kind != JobKind::kSeal && has_indexes(fields, status_.index_policy());
  const double share_of_rows = with_indexes ? kShareOfRows : 1;
  const NewSegment segment{job.output_id, job.inputs, job.rows, job.config->indexes};
  QV_TRY(job.output, write_segment(segment, common_.segments(), fields, common_.closing,
                                   [&](double share) { job.set_done(share * share_of_rows); }));
  if (with_indexes) QV_TRY(index_output(job));
  return hold_output(job);
}

/// Searches find on devices what they find there of other segments. A seal does not wait for what
/// takes long.
Result<> Rewrites::hold_output(const RewriteJob& job) const {
  if (context_.devices == nullptr) return {};
  const Cancel seal_patience(Deadline::after(kSealPatience));
  const bool is_seal = job.kind == JobKind::kSeal;
  const auto others = table_.snapshot();
  for (std::size_t field = 0; field < job.output->fields.size(); ++field) {
    const auto held =
        hold_as_others(*context_.devices, *job.config, others->segments,
                       {job.output->fields[field].schema.name, *job.output->searchers[field]},
                       is_seal ? seal_patience : common_.closing);
    if (!is_seal) QV_TRY(held);
  }
  return {};
}

/// The output is complete without an index, too; a job of its own then builds it.
Result<> Rewrites::index_output(RewriteJob& job) {
  const auto policy = status_.index_policy();
  auto built = build_indexes(
      *job.output, common_.segments(),
      {policy,
       common_.closing,
       context_.background,
       [&job](double share) { job.set_done(kShareOfRows + share * (1 - kShareOfRows)); },
       context_.queries.get(),
       {},
       job.inputs,
       context_.devices});
  QV_TRY(common_.closing.check());
  if (built) {
    install_indexes(*job.output, *std::move(built));
  } else {
    log_warning("shard {}: {}: {}", common_.path, to_string(job.kind), built.error().message());
  }
  return {};
}

void Rewrites::finish(const std::shared_ptr<RewriteJob>& job, Result<> result) noexcept {
  if (result && !common_.closed) {
    bool goes_on = false;
    result = guarded([&]() -> Result<> {
      goes_on = job->output && lacks_columns(*job->output, common_.config.load()->indexes);
      if (goes_on) add_columns(job);
      return {};
    });
    if (result && goes_on) return;
  }
  if (result) result = guarded([&] { return swap_in(*job); });
  end(*job, result);
  job_ended_();
}

void Rewrites::end(RewriteJob& job, const Result<>& result) noexcept {
  status_.ended(job);
  job.memory = MemoryPromise();
  status_.record(job, result);
  if (result) {
    status_.note_success(job.kind);
    run_logged("removing replaced segments", [&] {
      forget_damage();
      remove_inputs(job);
    });
  } else {
    abandon(job);
    if (!common_.closed) status_.note_failure(job.kind, result.error());
  }
  job.inputs.clear();
  job.output.reset();
  status_.update();
}

/// For a payload index created while the output was written. Searches may use that index, so the
/// output gets its column before it is swapped in.
void Rewrites::add_columns(const std::shared_ptr<RewriteJob>& job) {
  auto add = [this, job, indexes = common_.config.load()->indexes]() -> Result<> {
    QV_TRY(auto columns, missing_columns(*job->output, indexes, common_.segments()));
    for (auto& [key, column] : columns) job->output->columns[key] = std::move(column);
    return {};
  };
  common_.background.run(Priority::kHigh, job->kind, std::move(add),
                         [this, job](Result<> result) { finish(job, std::move(result)); });
}

Result<> Rewrites::swap_in(RewriteJob& job) {
  QV_TRY(check_inputs(job));
  std::optional<SegmentState> output;
  if (job.output) {
    output = table_.successor(job.inputs, job.rows, *std::move(job.output));
    output->view.data = with_fields(std::move(output->view.data), common_.config.load()->fields);
    output->view.data =
        without_unwanted_indexes(output->view.data, common_.segments(), status_.index_policy());
  }
  QV_TRY(manifest_.save({job.inputs, output ? &*output : nullptr, {}}));
  // The manifest names the output now, and updates find rows by what is published.
  run_whole("swapping in a segment", [&] {
    table_.replace(job.inputs, std::move(output));
    status_.publish();
  });
  return {};
}

Result<> Rewrites::check_inputs(const RewriteJob& job) const {
  notice_writes();
  for (const auto& input : job.inputs) {
    QV_TRY(input.data->check_files());
    if (table_.find(input.data->id) != nullptr) continue;
    return fail(Code::kUnavailable, "a segment it reads could not be read any more");
  }
  return job.output ? job.output->check_files() : Result<>();
}

/// Once every row that was read from the store again is sealed, damaged segments are forgotten.
void Rewrites::forget_damage() {
  DamagedSegments& damaged = table_.damaged();
  if (damaged.ids.empty() || table_.mutable_segment().id() <= damaged.rebuild_barrier) return;
  for (const SegmentState& state : table_.segments()) {
    if (!state.sealed() && state.id() <= damaged.rebuild_barrier) return;
  }
  const auto rebuilt = std::exchange(damaged.ids, {});
  if (auto saved = manifest_.save({{}, nullptr, rebuilt}); !saved) {
    damaged.ids = rebuilt;
    status_.note_failure(JobKind::kSaveManifest, saved.error());
    return;
  }
  for (const std::uint64_t id : rebuilt) manifest_.remove_directory(id);
}

void Rewrites::remove_inputs(const RewriteJob& job) {
  for (const auto& input : job.inputs) {
    if (input.data->sealed) manifest_.remove_directory(input.data->id);
  }
}

void Rewrites::abandon(const RewriteJob& job) noexcept {
  table_.set_busy(job.inputs, false);
  run_logged("removing an unfinished segment", [&] { manifest_.remove_directory(job.output_id); });
}

}  // namespace quiver::engine
