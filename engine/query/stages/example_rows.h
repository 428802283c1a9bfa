// Scores rows of one segment by several examples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/query/stages/example_search.h"
#include "engine/segment/segment.h"
#include "index/row_filter.h"
#include "index/topk.h"

namespace quiver::engine {

/// One thread.
class ExampleRows {
 public:
  ExampleRows(const SearchEnvironment& environment, const ExampleSearch& search,
              const Segment& segment);

  /// Writes the scores of `rows`, which ascend and have a vector. Polls the environment's `cancel`.
  Result<> score(std::span<const std::uint32_t> rows, std::span<float> scores);
  /// Offers `rows` with their scores.
  Result<> offer(std::span<const std::uint32_t> rows, index::TopK& out);
  /// Offers the rows in `[begin, end)` that `filter` allows. `begin` is a multiple of 64.
  Result<> offer_allowed(const index::RowFilter& filter, std::uint32_t begin, std::uint32_t end,
                         index::TopK& out);
  [[nodiscard]] std::uint64_t n_scored() const { return n_scored_; }

 private:
  const SearchEnvironment& environment_;
  const ExampleSearch& search_;
  const Segment& segment_;
  std::size_t n_at_once_;  ///< rows
  std::vector<float> similarities_;
  std::vector<float> scores_;
  std::uint64_t n_scored_ = 0;  ///< similarities
};

}  // namespace quiver::engine
