// A group of queries of tokens in the pinned memory of a lane.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/devices.h"
#include "gpu/job.h"

namespace quiver::gpu {

/// Writes a job and reads its results. Borrows all it is given.
class DocumentJob {
 public:
  using Rows = Documents;
  using Query = DocumentQuery;
  using Answers = RowLists;

  /// Queries of one job, so that their scores take 64 MiB of a device at most, and their products
  /// a second of a slow one.
  [[nodiscard]] static std::size_t n_together(const Documents& documents,
                                              std::span<const DocumentQuery> queries,
                                              std::span<const std::size_t> numbers);
  /// Whether a job with this query alone would take too long.
  [[nodiscard]] static bool is_too_large(const Documents& documents, const DocumentQuery& query);
  /// The same by numbers. Values: tokens times dimensions.
  [[nodiscard]] static bool is_too_large(std::uint64_t n_document_tokens,
                                         std::uint64_t n_query_values);
  /// `numbers`: which of `queries` the group is of, by mask. `executor`: nobody helps, as there are
  /// few queries.
  DocumentJob(std::span<const DocumentQuery> queries, std::span<const std::size_t> numbers,
              const Documents& documents, Executor* /*executor*/)
      : queries_(queries), numbers_(numbers), documents_(documents) {}

  /// Prepares the job in the lane's memory. False if there is none. Queries that have no halves are
  /// left out.
  [[nodiscard]] bool write(Lane& lane, const Part& part);
  [[nodiscard]] std::size_t n_asked() const { return numbers_.size(); }
  [[nodiscard]] std::uint32_t n_queries() const { return job_.n_queries; }
  [[nodiscard]] qv_status start(const qv_gpu_api& api, const Lane& lane) const {
    return api.documents(lane.handle(), &job_);
  }
  /// Fills in the answers of queries that the device is certain of; returns their number.
  [[nodiscard]] std::size_t read(RowLists& lists) const {
    return read_named({job_.capacity, job_.documents, job_.n_documents}, written_, documents_.n(),
                      lists);
  }

 private:
  void write_queries(std::uint32_t stride, std::span<const std::uint32_t> masks,
                     std::uint16_t* tokens, qv_token_query* queries);

  std::span<const DocumentQuery> queries_;
  std::span<const std::size_t> numbers_;
  const Documents& documents_;
  std::vector<std::size_t> written_;  ///< number of each query of the job
  std::uint32_t most_tokens_ = 0;     ///< of a query
  qv_documents job_ = {};
};

}  // namespace quiver::gpu
