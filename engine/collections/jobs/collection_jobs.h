// The jobs of one collection: their table, their turns, and what is on disk of them.
//
// `mutex_` guards the table and what changes of a job. A job's own thread is a turn of the lane
// that all collections share; it holds no lock while it works. Files of a job are written by
// whoever made it, then by its turn, and removed by `forget` once the turn is over.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/threads/cancel.h"
#include "engine/collections/jobs/job_files.h"
#include "engine/collections/jobs/job_writes.h"
#include "engine/jobs.h"

namespace quiver::engine {

/// What jobs need of their collection. Turns call all but `check`, `keep` and `project`.
struct JobHost {
  std::function<Result<>(const JoinRequest&)> check;
  std::function<Result<JoinTable>(const JoinRequest&, const Cancel&, JoinProgress&)> join;
  std::function<Result<Projection>(const ProjectionRequest&, const Cancel&)> project;
  ApplyOperations apply;
  /// Keeps the collection open while a job waits or runs; nullptr: it is closing.
  std::function<std::shared_ptr<const void>()> keep;
};

class CollectionJobs final : public Jobs {
 public:
  /// `context` outlives this; `collection`: its directory.
  CollectionJobs(const JobContext& context, std::unique_ptr<Directory> collection, JobHost host);

  /// Reads what is on disk and lets jobs that have not ended start again. Called once.
  Result<> open() QV_EXCLUDES(mutex_);
  /// Ends the running job, which starts again at the next opening. No job runs afterwards.
  void close() QV_EXCLUDES(mutex_);

  Result<JobStatus> start(JoinRequest request, std::string text) override QV_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<JobStatus> list() const override QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<JobStatus> status(std::uint64_t id) const override QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<JobResult> result(std::uint64_t id) const override QV_EXCLUDES(mutex_);
  Result<> forget(std::uint64_t id) override QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<Projection> project(const ProjectionRequest& request,
                                           const Cancel& cancel) const override {
    return host_.project(request, cancel);
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Job {
    std::uint64_t id = 0;
    std::optional<JoinRequest> request;  ///< nullopt: it cannot be read
    Cancel cancel;
    JoinProgress progress;
    JobRecord record;  ///< guarded, but for the request text, which never changes
    bool is_damaged = false;
    bool is_forgotten = false;
    bool is_in_turn = false;
    Clock::time_point began_at{};  ///< once it has run
    Clock::time_point ended_at{};  ///< once it has ended
  };
  using JobPtr = std::shared_ptr<Job>;

  [[nodiscard]] JobPtr load(std::uint64_t id) const;
  Result<> post(const JobPtr& job);
  void take_turn(Job& job) QV_EXCLUDES(mutex_);
  bool begin(Job& job) QV_EXCLUDES(mutex_);
  Result<> run(Job& job) QV_EXCLUDES(mutex_);
  Result<JoinTable> make_table(Job& job);
  void end(Job& job, Result<> outcome) QV_EXCLUDES(mutex_);
  [[nodiscard]] JobStatus status_of(const Job& job) const QV_REQUIRES(mutex_);
  [[nodiscard]] Result<JobPtr> find(std::uint64_t id) const QV_REQUIRES(mutex_);

  const JobContext& context_;
  const JobHost host_;
  JobFiles files_;

  mutable Mutex mutex_;
  CondVar turn_over_;
  std::map<std::uint64_t, JobPtr> jobs_ QV_GUARDED_BY(mutex_);
  std::uint64_t last_id_ QV_GUARDED_BY(mutex_) = 0;
  std::size_t n_starting_ QV_GUARDED_BY(mutex_) = 0;  ///< being made durable
  bool is_closed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::engine
