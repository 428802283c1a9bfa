// A group of dense queries in the pinned memory of a lane.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/devices.h"

namespace quiver::gpu {

/// Most hits of a query that a device looks for.
inline constexpr std::uint64_t kMaxHits = 4096;
/// Most queries of one job; more are several jobs.
inline constexpr std::size_t kMaxQueries = 256;
/// Queries of one job, if one of them wants `k` hits: fewer if there are many, so that the rows
/// found take at most 32 MiB of a device.
[[nodiscard]] std::size_t queries_per_job(std::uint64_t k);

/// Writes a job and reads its results. Borrows all it is given.
class DenseJob {
 public:
  /// `numbers`: which of `queries` the group is of. At most kMaxQueries. `executor` helps to write;
  /// nullptr: nobody does.
  DenseJob(std::span<const DenseQuery> queries, std::span<const std::size_t> numbers,
           const DenseRows& rows, Executor* executor)
      : queries_(queries), numbers_(numbers), rows_(rows), executor_(executor) {}

  /// Prepares the job in the lane's memory. False if there is none. Queries without a code are
  /// left out.
  [[nodiscard]] bool write(Lane& lane, const Part& part, const std::uint64_t* allowed);
  [[nodiscard]] std::size_t n_asked() const { return numbers_.size(); }
  [[nodiscard]] std::uint32_t n_queries() const { return job_.n_queries; }
  [[nodiscard]] const qv_dense& job() const { return job_; }
  /// Fills in the answers of queries that the device is certain of; returns their number.
  [[nodiscard]] std::size_t read(RowLists& lists) const;

 private:
  void write_queries(const Part& part, std::int8_t* codes, qv_query* queries);

  std::span<const DenseQuery> queries_;
  std::span<const std::size_t> numbers_;
  const DenseRows& rows_;
  Executor* const executor_;
  std::vector<std::size_t> written_;  ///< number of each query of the job
  qv_dense job_ = {};
};

}  // namespace quiver::gpu
