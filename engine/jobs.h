// What compares all points of a collection: background jobs, and pictures at once. What
// `service/api/` talks to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/jobs.h"
#include "engine/model/projection.h"

namespace quiver::engine {

/// Thread-safe. Jobs survive restarts: one that has not ended starts again when its collection is
/// opened. kNotFound if there is no job of a number.
class Jobs {
 public:
  virtual ~Jobs() = default;

  /// Returns at once; the job is durable. `text`: what the client sent, which `JobContext::decode`
  /// reads. Errors as of `check_join`; kResourceExhausted while there are kMaxJobs.
  virtual Result<JobStatus> start(JoinRequest request, std::string text) = 0;
  /// By number, ascending.
  [[nodiscard]] virtual std::vector<JobStatus> list() const = 0;
  [[nodiscard]] virtual Result<JobStatus> status(std::uint64_t id) const = 0;
  /// Reads the whole file and checks it: kDataLoss if it is damaged. kFailedPrecondition if the
  /// job has no result yet.
  [[nodiscard]] virtual Result<JobResult> result(std::uint64_t id) const = 0;
  /// Cancels the job if it has not ended, waits for that, and removes its files.
  virtual Result<> forget(std::uint64_t id) = 0;

  /// A picture of a field, in the caller's thread; it is no job. Errors as of `project_sample`.
  [[nodiscard]] virtual Result<Projection> project(const ProjectionRequest& request,
                                                   const Cancel& cancel) const = 0;
};

}  // namespace quiver::engine
