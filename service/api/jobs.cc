#include "service/api/jobs.h"

#include <utility>

#include "engine/collection.h"
#include "engine/jobs.h"
#include "service/api/answer.h"

namespace quiver::service::api {
namespace {

/// Calls `work(jobs)` on a thread that may block.
template <class T, class Work>
void with_jobs(Call& call, const OpenCollection& target, Access needed, Done<T> done, Work work) {
  auto on_jobs = [&call, target, needed, work = std::move(work)]() mutable -> Result<T> {
    QV_TRY(call.check_access(needed, target.name));
    engine::Jobs* const jobs = target.collection->jobs();
    if (jobs == nullptr) return fail(Code::kUnimplemented, "this server runs no jobs");
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

}  // namespace quiver::service::api
