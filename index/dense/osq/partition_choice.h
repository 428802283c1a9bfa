// Which partitions a search visits, and which of their rows it may return.
#pragma once

#include <cstdint>
#include <vector>

#include "index/dense/osq/files.h"
#include "index/dense/osq/scaled_query.h"
#include "index/row_filter.h"

namespace quiver::index::dense::osq {

/// Rows of one partition that a filter allows.
struct Candidates {
  std::vector<std::uint32_t> rows;     ///< of the column, ascending
  std::vector<std::uint32_t> numbers;  ///< of the same rows in the partition
};

/// Replaces `out`. `allowed`: words of the filter; nullptr: all rows. `n`: their number. If members
/// change after opening, there may be fewer, but none outside of the partition's codes.
void list_candidates(const Partition& partition, const std::uint64_t* allowed, std::uint32_t n,
                     Candidates& out);
/// The number of a partition's candidates.
[[nodiscard]] std::uint32_t count_candidates(const Partition& partition,
                                             const std::uint64_t* allowed);

/// Numbers of the partitions with candidates, the nearest first: those within `distance_factor`
/// times the distance of the nearest, and as many more as hold `n_wanted` candidates together.
/// Counts are exact, so no second pass is needed. `counts`: candidates of each partition.
[[nodiscard]] std::vector<std::uint32_t> choose_partitions(const OpenFile& file,
                                                           const ScaledQuery& query,
                                                           const std::vector<std::uint32_t>& counts,
                                                           std::uint64_t n_wanted,
                                                           double distance_factor);

}  // namespace quiver::index::dense::osq
