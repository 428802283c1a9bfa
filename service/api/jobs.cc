#include "service/api/jobs.h"

#include <utility>

#include "engine/collection.h"
#include "engine/jobs.h"
#include "service/api/answer.h"
#include "service/api/limits.h"

namespace quiver::service::api {
namespace {

Result<engine::Jobs*> jobs_of(const OpenCollection& target) {
  if (engine::Jobs* const jobs = target.collection->jobs()) return jobs;
  return fail(Code::kUnimplemented, "this server runs no jobs");
}

/// Calls `work(jobs)` on a thread that may block.
template <class T, class Work>
void with_jobs(Call& call, const OpenCollection& target, Access needed, Done<T> done, Work work) {
  auto on_jobs = [&call, target, needed, work = std::move(work)]() mutable -> Result<T> {
    QV_TRY(call.check_access(needed, target.name));
    QV_TRY(engine::Jobs* const jobs, jobs_of(target));
    return work(*jobs);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(on_jobs));
}

}  // namespace

void start_job(Call& call, const OpenCollection& target, engine::JoinRequest request,
               std::string text, Done<engine::JobStatus> done) {
  with_jobs(call, target, Access::kWriteExtras, std::move(done),
            [request = std::move(request), text = std::move(text)](engine::Jobs& jobs) mutable {
              return jobs.start(std::move(request), std::move(text));
            });
}

void list_jobs(Call& call, const OpenCollection& target,
               Done<std::vector<engine::JobStatus>> done) {
  with_jobs(
      call, target, Access::kRead, std::move(done),
      [](engine::Jobs& jobs) -> Result<std::vector<engine::JobStatus>> { return jobs.list(); });
}

void job_status(Call& call, const OpenCollection& target, std::uint64_t id,
                Done<engine::JobStatus> done) {
  with_jobs(call, target, Access::kRead, std::move(done),
            [id](engine::Jobs& jobs) { return jobs.status(id); });
}

void job_result(Call& call, const OpenCollection& target, std::uint64_t id,
                Done<engine::JobResult> done) {
  with_jobs(call, target, Access::kRead, std::move(done),
            [id](engine::Jobs& jobs) { return jobs.result(id); });
}

void forget_job(Call& call, const OpenCollection& target, std::uint64_t id, Done<> done) {
  with_jobs(call, target, Access::kWriteExtras, std::move(done),
            [id](engine::Jobs& jobs) { return jobs.forget(id); });
}

void project(Call& call, const OpenCollection& target, engine::ProjectionRequest request,
             Done<engine::Projection> done) {
  call.set_operation("Search");
  auto draw = [&call, target,
               request = std::move(request)](const Cancel& cancel) -> Result<engine::Projection> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(const engine::Jobs* jobs, jobs_of(target));
    engine::Query sample;
    sample.kind = engine::Sample{};
    sample.filter = request.filter;
    sample.limit = request.sample;
    sample.shards = request.shards;
    QV_TRY(check_limits(call, target, sample));
    return jobs->project(request, cancel);
  };
  compute(call, {load::Verb::kLong}, std::move(done), std::move(draw));
}

}  // namespace quiver::service::api
