// A group of queries that scan lists of codes, in the pinned memory of a lane.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/devices.h"
#include "gpu/job.h"

namespace quiver::gpu {

/// Writes a job and reads its results. Borrows all it is given.
class ListJob {
 public:
  using Rows = CodeLists;
  using Query = ListQuery;
  using Answers = BestCodes;

  /// Blocks that a query scans.
  [[nodiscard]] static std::uint64_t blocks_of(const CodeLists& lists, const ListQuery& query);
  /// The first queries of `numbers`, as many as make a job: their estimates take 64 MiB of a device
  /// at most.
  [[nodiscard]] static std::size_t n_together(const CodeLists& lists,
                                              std::span<const ListQuery> queries,
                                              std::span<const std::size_t> numbers);
  /// Whether the estimates of this query alone take too much of a device.
  [[nodiscard]] static bool is_too_large(const CodeLists& lists, const ListQuery& query);
  /// `numbers`: which of `queries` the group is of. At most kMaxQueries.
  ListJob(std::span<const ListQuery> queries, std::span<const std::size_t> numbers,
          const CodeLists& lists, Executor* /*executor*/)
      : queries_(queries), numbers_(numbers), lists_(lists) {}

  /// Prepares the job in the lane's memory. False if there is none.
  [[nodiscard]] bool write(Lane& lane, const Part& part);
  [[nodiscard]] std::size_t n_asked() const { return numbers_.size(); }
  [[nodiscard]] std::uint32_t n_queries() const { return job_.n_queries; }
  [[nodiscard]] qv_status start(const qv_gpu_api& api, const Lane& lane) const {
    return api.lists(lane.handle(), &job_);
  }
  /// Fills in the answers of queries that have one; returns their number.
  [[nodiscard]] std::size_t read(BestCodes& answers) const;

 private:
  void write_visits(std::span<const qv_visit> unsorted, qv_visit* visits) const;
  [[nodiscard]] std::vector<qv_visit> number_visits(qv_list_query* queries);

  std::span<const ListQuery> queries_;
  std::span<const std::size_t> numbers_;
  const CodeLists& lists_;
  std::uint32_t most_blocks_ = 0;
  std::uint32_t n_slots_ = 0;
  qv_lists job_ = {};
};

}  // namespace quiver::gpu
