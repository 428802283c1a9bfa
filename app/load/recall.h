// Recall of a server's answers against known nearest neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/http.h"
#include "app/load/loop.h"
#include "base/result.h"

namespace quiver::app {

/// Means over the queries asked. By ids alone: a hit that ties with the last true one but is not in
/// the ground truth counts as a miss.
struct NetworkRecall {
  double mean = 0;
  std::uint64_t n_queries = 0;
  std::uint64_t n_short = 0;  ///< answers of fewer than `k` hits
};

/// The ids of the hits in an answer to a query without payload, in order.
[[nodiscard]] std::vector<std::int64_t> ids_of(std::string_view answer);

/// Share of `truth` (the first k of it) that `ids` holds.
[[nodiscard]] double overlap(std::span<const std::int64_t> ids,
                             std::span<const std::int64_t> truth);

/// Asks each request once, after the measurement. Request i is query `first_row + i` of the ground
/// truth. kInvalidArgument if that has too few rows or ids.
[[nodiscard]] Result<NetworkRecall> recall_over_network(const Endpoint& endpoint,
                                                        const std::vector<RequestText>& requests,
                                                        std::uint64_t first_row,
                                                        const std::string& ground_truth,
                                                        std::uint32_t k);

}  // namespace quiver::app
