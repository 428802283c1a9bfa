#include "engine/collections/jobs/collection_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"

namespace quiver::engine {
namespace {

bool has_ended(JobState state) { return state == JobState::kDone || state == JobState::kFailed; }

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

JobFacts facts_of(const JoinTable& table) {
  JobFacts facts{table.ids.size(), table.neighbours.size(), 0, table.translation};
  std::vector<bool> seen(table.ids.size());
  for (const std::uint32_t group : table.groups) {
    if (group == JoinTable::kNone || seen[group]) continue;
    seen[group] = true;
    ++facts.n_groups;
  }
  return facts;
}

void log_unless_saved(const Result<>& saved, std::uint64_t id) {
  if (!saved) log_error("job {} is not saved: {}", id, saved.error().message());
}

}  // namespace

std::string_view to_string(JobState state) {
  constexpr std::string_view kNames[] = {"waiting", "running", "writing", "done", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

CollectionJobs::CollectionJobs(const JobContext& context, std::unique_ptr<Directory> collection,
                               JobHost host)
    : context_(context), host_(std::move(host)), files_(std::move(collection)) {}

Result<> CollectionJobs::open() {
  QV_TRY(const auto ids, files_.open());
  std::vector<JobPtr> waiting;
  {
    MutexLock lock(mutex_);
    for (const std::uint64_t id : ids) {
      const JobPtr job = jobs_[id] = load(id);
      if (job->record.state == JobState::kWaiting) waiting.push_back(job);
      last_id_ = id;
    }
  }
  for (const JobPtr& job : waiting) QV_TRY(post(job));
  return {};
}

/// A job that cannot be read is listed as failed, with the reason.
CollectionJobs::JobPtr CollectionJobs::load(std::uint64_t id) const {
  auto job = std::make_shared<Job>();
  job->id = id;
  auto record = files_.load(id);
  if (record) {
    job->record = *std::move(record);
    auto request = context_.decode(job->record.request);
    if (request) {
      job->request = *std::move(request);
      return job;
    }
    record = fail(std::move(request).error());
  }
  log_error("job {} cannot be read: {}", id, record.error().message());
  job->record.state = JobState::kFailed;
  job->record.error = record.error().message();
  job->is_damaged = true;
  return job;
}

Result<> CollectionJobs::post(const JobPtr& job) {
  auto keep = host_.keep();
  const bool is_posted =
      keep != nullptr && context_.turns->post([this, job, keep] { take_turn(*job); });
  return is_posted ? Result<>() : fail(Code::kUnavailable, "the collection is closing");
}

Result<JobStatus> CollectionJobs::start(JoinRequest request, std::string text) {
  QV_TRY(host_.check(request));
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->record.request = std::move(text);
  job->record.created_at_ms = static_cast<std::uint64_t>(unix_time_ms());
  {
    MutexLock lock(mutex_);
    while (n_starting_ != 0) turn_over_.wait(mutex_);  // the first one makes the directory
    if (is_closed_) return fail(Code::kUnavailable, "the collection is closing");
    if (jobs_.size() >= kMaxJobs) {
      return fail(Code::kResourceExhausted,
                  fmt::format("the collection has {} jobs, as many as are kept: delete some first",
                              kMaxJobs));
    }
    ++n_starting_;
    job->id = ++last_id_;
  }
  auto saved = files_.save(job->id, job->record);
  {
    MutexLock lock(mutex_);
    --n_starting_;
    if (saved) jobs_[job->id] = job;
    turn_over_.notify_all();
  }
  QV_TRY(std::move(saved));
  QV_TRY(post(job));
  return status(job->id);
}

bool CollectionJobs::begin(Job& job) {
  MutexLock lock(mutex_);
  if (is_closed_ || job.is_forgotten) return false;
  job.is_in_turn = true;
  job.record.state = JobState::kRunning;
  job.began_at = Clock::now();
  return true;
}

void CollectionJobs::take_turn(Job& job) {
  if (!begin(job)) return;
  Result<> outcome = fail(Code::kInternal, "the job ended unexpectedly: the log says why");
  run_logged("a job", [&] { outcome = run(job); });
  end(job, std::move(outcome));
}

/// The join of now, or its result from before a restart, if all of it is there.
Result<JoinTable> CollectionJobs::make_table(Job& job) {
  if (files_.has_result(job.id)) {
    auto table = files_.load_result(job.id);
    if (table) return table;
    log_warning("job {} starts again: {}", job.id, table.error().message());
  }
  QV_TRY(auto table, host_.join(*job.request, job.cancel, job.progress));
  QV_TRY(files_.save_result(job.id, table));
  return table;
}

Result<> CollectionJobs::run(Job& job) {
  QV_TRY(const JoinTable table, make_table(job));
  const JobFacts facts = facts_of(table);  // looks at all points: not under the lock
  const bool writes = !job.request->into.empty();
  {
    MutexLock lock(mutex_);
    job.record.facts = facts;
    if (writes) job.record.state = JobState::kWriting;
  }
  if (!writes) return {};
  return write_outcome(*job.request, table, host_.apply, job.cancel, job.progress);
}

/// A job that closing cancelled stays as it is on disk, and so starts again.
void CollectionJobs::end(Job& job, Result<> outcome) {
  JobRecord record;
  bool is_cancelled = false;
  {
    MutexLock lock(mutex_);
    is_cancelled = !outcome && (is_closed_ || job.is_forgotten);
    job.record.state = outcome ? JobState::kDone : JobState::kFailed;
    if (is_cancelled) job.record.state = JobState::kWaiting;
    if (!outcome && !is_cancelled) job.record.error = outcome.error().message();
    record = job.record;
  }
  if (!outcome && !is_cancelled) {
    log_warning("job {} failed: {}", job.id, outcome.error().message());
  }
  if (!is_cancelled) log_unless_saved(files_.save(job.id, record), job.id);
  MutexLock lock(mutex_);
  job.ended_at = Clock::now();
  job.is_in_turn = false;
  turn_over_.notify_all();
}

void CollectionJobs::close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  for (const auto& [id, job] : jobs_) job->cancel.cancel();
  const auto is_in_turn = [](const auto& entry) { return entry.second->is_in_turn; };
  while (std::ranges::any_of(jobs_, is_in_turn)) turn_over_.wait(mutex_);
}

JobStatus CollectionJobs::status_of(const Job& job) const {
  const JobRecord& record = job.record;
  JobStatus status;
  status.id = job.id;
  status.request = record.request;
  status.state = record.state;
  status.error = record.error;
  status.created_at_ms = record.created_at_ms;
  status.facts = record.facts;
  status.progress = record.state == JobState::kDone ? 1 : 0;
  if (job.began_at == Clock::time_point()) return status;
  const auto now =
      has_ended(record.state) && job.ended_at != Clock::time_point() ? job.ended_at : Clock::now();
  status.seconds = seconds_between(job.began_at, now);
  if (has_ended(record.state)) return status;
  // Writing is half of the work of a job that writes, as far as is known.
  const auto n_done = static_cast<double>(job.progress.n_done);
  const auto n_total = static_cast<double>(job.progress.n_total);
  const bool will_write = record.state == JobState::kRunning && !job.request->into.empty();
  if (n_total > 0) status.progress = std::min(1.0, n_done / (will_write ? 2 * n_total : n_total));
  if (status.progress > 0) status.eta_s = status.seconds / status.progress - status.seconds;
  return status;
}

Result<CollectionJobs::JobPtr> CollectionJobs::find(std::uint64_t id) const {
  const auto found = jobs_.find(id);
  if (found != jobs_.end() && !found->second->is_forgotten) return found->second;
  return fail(Code::kNotFound, fmt::format("there is no job {}", id));
}

std::vector<JobStatus> CollectionJobs::list() const {
  std::vector<JobStatus> all;
  MutexLock lock(mutex_);
  for (const auto& [id, job] : jobs_) {
    if (!job->is_forgotten) all.push_back(status_of(*job));
  }
  return all;
}

Result<JobStatus> CollectionJobs::status(std::uint64_t id) const {
  MutexLock lock(mutex_);
  QV_TRY(const JobPtr job, find(id));
  return status_of(*job);
}

Result<JobResult> CollectionJobs::result(std::uint64_t id) const {
  JobPtr job;
  {
    MutexLock lock(mutex_);
    QV_TRY(job, find(id));
    const JobState state = job->record.state;
    if (job->is_damaged) return fail(Code::kDataLoss, job->record.error);
    if (state != JobState::kDone && state != JobState::kWriting) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("job {} is {}: it has no result", id, to_string(state)));
    }
  }
  QV_TRY(auto table, files_.load_result(id));
  return JobResult{*job->request, std::move(table)};
}

Result<> CollectionJobs::forget(std::uint64_t id) {
  JobPtr job;
  {
    MutexLock lock(mutex_);
    QV_TRY(job, find(id));
    job->is_forgotten = true;
    job->cancel.cancel();
    while (job->is_in_turn) turn_over_.wait(mutex_);
  }
  auto removed = files_.remove(id);
  MutexLock lock(mutex_);
  if (!removed) job->is_forgotten = false;  // it is still there, and may be forgotten again
  if (removed) jobs_.erase(id);
  return removed;
}

}  // namespace quiver::engine
