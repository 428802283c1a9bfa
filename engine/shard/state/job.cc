#include "engine/shard/state/job.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/observe/failure.h"

namespace quiver::engine {
namespace {

OptimizationState describe(const Job& job) {
  OptimizationState state;
  state.id = job.number;
  state.kind = job.kind;
  for (const auto& input : job.inputs)
    state.segments.push_back({0, input.data->id, input.n_live()});
  const double share = job.share_done.load(std::memory_order_relaxed);
  state.total = job.n_rows;
  state.done = static_cast<std::uint64_t>(share * static_cast<double>(job.n_rows));
  state.started_at = job.started_at;
  if (share > 0) state.eta_s = job.clock.seconds() * (1 - share) / share;
  return state;
}

OptimizationState describe_finished(const Job& job, const Result<>& result) {
  auto state = describe(job);
  if (result) {
    state.done = state.total;
  } else {
    state.error = result.error().message();
  }
  state.finished_at = job.started_at + job.clock.seconds();
  state.eta_s.reset();
  return state;
}

void add_to(OptimizationState state, std::uint32_t shard, std::vector<OptimizationState>& states) {
  state.shard = shard;
  for (auto& segment : state.segments) segment.shard = shard;
  states.push_back(std::move(state));
}

void add_to(WorkSummary& summary, const Job& job, bool went_well) {
  if (!went_well) {
    ++summary.n_failed;
    return;
  }
  const double seconds = job.clock.seconds();
  summary.min_s = summary.n_done == 0 ? seconds : std::min(summary.min_s, seconds);
  summary.max_s = std::max(summary.max_s, seconds);
  summary.total_s += seconds;
  summary.n_rows += job.n_rows;
  summary.last_at = job.started_at + seconds;
  ++summary.n_done;
}

}  // namespace

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void JobHistory::add(std::shared_ptr<const Job> job) noexcept try {
  MutexLock lock(mutex_);
  running_.push_back(std::move(job));
} catch (...) {
  log_exception("reporting a job");
}

void JobHistory::finish(const Job& job, const Result<>& result) noexcept {
  std::optional<OptimizationState> state;
  run_logged("reporting a job", [&] { state = describe_finished(job, result); });
  MutexLock lock(mutex_);
  add_to(summary_, job, result.has_value());
  std::erase_if(running_, [&](const auto& other) { return other.get() == &job; });
  if (!state) return;
  completed_.insert(completed_.begin(), *std::move(state));
  if (completed_.size() > kMaxCompleted) completed_.pop_back();
}

void JobHistory::report(std::uint32_t shard, OptimizationReport& report) const {
  MutexLock lock(mutex_);
  for (const auto& job : running_) add_to(describe(*job), shard, report.running);
  for (const auto& state : completed_) add_to(state, shard, report.completed);
}

WorkSummary JobHistory::summary() const {
  MutexLock lock(mutex_);
  return summary_;
}

}  // namespace quiver::engine
