// A group of queries whose impacts are added up, in the pinned memory of a lane.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/devices.h"
#include "gpu/job.h"

namespace quiver::gpu {

/// Writes a job and reads its results. Borrows all it is given.
class SumJob {
 public:
  using Rows = ImpactRuns;
  using Query = SumQuery;
  using Answers = SummedRows;

  /// The first queries of `numbers`, as many as make a job: the rows found take at most 32 MiB of a
  /// device, and it reads for a second of a slow one at most.
  [[nodiscard]] static std::size_t n_together(const ImpactRuns& runs,
                                              std::span<const SumQuery> queries,
                                              std::span<const std::size_t> numbers);
  /// Whether a job with this query alone would take too long.
  [[nodiscard]] static bool is_too_large(const ImpactRuns& runs, const SumQuery& query);
  /// `numbers`: which of `queries` the group is of, by mask. At most kMaxQueries.
  SumJob(std::span<const SumQuery> queries, std::span<const std::size_t> numbers,
         const ImpactRuns& runs, Executor* /*executor*/)
      : queries_(queries), numbers_(numbers), runs_(runs) {}

  /// Prepares the job in the lane's memory. False if there is none.
  [[nodiscard]] bool write(Lane& lane, const Part& part);
  [[nodiscard]] std::size_t n_asked() const { return numbers_.size(); }
  [[nodiscard]] std::uint32_t n_queries() const { return job_.n_queries; }
  [[nodiscard]] qv_status start(const qv_gpu_api& api, const Lane& lane) const {
    return api.sums(lane.handle(), &job_);
  }
  /// Fills in the answers of queries that have one; returns their number.
  [[nodiscard]] std::size_t read(SummedRows& answers) const;

 private:
  std::span<const SumQuery> queries_;
  std::span<const std::size_t> numbers_;
  const ImpactRuns& runs_;
  qv_sums job_ = {};
};

}  // namespace quiver::gpu
