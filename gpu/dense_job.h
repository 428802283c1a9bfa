// A group of dense queries in the pinned memory of a lane.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/devices.h"
#include "gpu/job.h"

namespace quiver::gpu {

/// Writes a job and reads its results. Borrows all it is given.
class DenseJob {
 public:
  using Rows = DenseRows;
  using Query = DenseQuery;
  using Answers = RowLists;

  /// Queries of one job: fewer if one wants many hits, so that the rows found take at most 32 MiB
  /// of a device.
  [[nodiscard]] static std::size_t n_together(const DenseRows& rows,
                                              std::span<const DenseQuery> queries,
                                              std::span<const std::size_t> numbers);
  /// Whether a job with this query alone would take too long.
  [[nodiscard]] static bool is_too_large(const DenseRows& /*rows*/, const DenseQuery& /*query*/) {
    return false;
  }
  /// `numbers`: which of `queries` the group is of, by mask. At most kMaxQueries. `executor` helps
  /// to write; nullptr: nobody does.
  DenseJob(std::span<const DenseQuery> queries, std::span<const std::size_t> numbers,
           const DenseRows& rows, Executor* executor)
      : queries_(queries), numbers_(numbers), rows_(rows), executor_(executor) {}

  /// Prepares the job in the lane's memory. False if there is none. Queries without a code are
  /// left out.
  [[nodiscard]] bool write(Lane& lane, const Part& part);
  [[nodiscard]] std::size_t n_asked() const { return numbers_.size(); }
  [[nodiscard]] std::uint32_t n_queries() const { return job_.n_queries; }
  [[nodiscard]] qv_status start(const qv_gpu_api& api, const Lane& lane) const {
    return api.dense(lane.handle(), &job_);
  }
  /// Fills in the answers of queries that the device is certain of; returns their number.
  [[nodiscard]] std::size_t read(RowLists& lists) const;

 private:
  void write_queries(const Part& part, std::span<const std::uint32_t> masks, std::int8_t* codes,
                     qv_query* queries);

  std::span<const DenseQuery> queries_;
  std::span<const std::size_t> numbers_;
  const DenseRows& rows_;
  Executor* const executor_;
  std::vector<std::size_t> written_;  ///< number of each query of the job
  qv_dense job_ = {};
};

}  // namespace quiver::gpu
