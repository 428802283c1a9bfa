// A group of queries that are multiplied with second codes, in the pinned memory of a lane.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/devices.h"
#include "gpu/job.h"

namespace quiver::gpu {

/// Writes a job and reads its results. Borrows all it is given.
class ProductJob {
 public:
  using Rows = ByteCodes;
  using Query = ProductQuery;
  using Answers = Products;

  /// The first queries of `numbers`, as many as make a job: four million pairs at most.
  [[nodiscard]] static std::size_t n_together(const ByteCodes& codes,
                                              std::span<const ProductQuery> queries,
                                              std::span<const std::size_t> numbers);
  /// Whether this query alone has more.
  [[nodiscard]] static bool is_too_large(const ByteCodes& codes, const ProductQuery& query);
  /// `numbers`: which of `queries` the group is of. At most kMaxQueries.
  ProductJob(std::span<const ProductQuery> queries, std::span<const std::size_t> numbers,
             const ByteCodes& codes, Executor* /*executor*/)
      : queries_(queries), numbers_(numbers), codes_(codes) {}

  /// Prepares the job in the lane's memory. False if there is none.
  [[nodiscard]] bool write(Lane& lane, const Part& part);
  [[nodiscard]] std::size_t n_asked() const { return numbers_.size(); }
  [[nodiscard]] std::uint32_t n_queries() const { return job_.n_queries; }
  [[nodiscard]] qv_status start(const qv_gpu_api& api, const Lane& lane) const {
    return api.products(lane.handle(), &job_);
  }
  /// Fills in the answers, one for each query.
  [[nodiscard]] std::size_t read(Products& answers) const;

 private:
  std::span<const ProductQuery> queries_;
  std::span<const std::size_t> numbers_;
  const ByteCodes& codes_;
  qv_products job_ = {};
};

}  // namespace quiver::gpu
