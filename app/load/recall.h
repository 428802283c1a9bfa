// Recall of a server's answers against known nearest neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "app/client/http.h"
#include "app/load/load.h"
#include "base/result.h"
#include "dataset/vectors.h"

namespace quiver::app {

/// Over the queries asked.
struct NetworkRecall {
  double mean = 0;
  double p5 = 0;  ///< the 5th percentile, by nearest rank
  std::uint64_t n_queries = 0;
  std::uint64_t n_short = 0;  ///< answers of fewer than min(k, matches) hits
};

struct ScoredId {
  std::int64_t id = -1;  ///< -1 for a UUID, which no ground truth holds
  double score = 0;
  bool operator==(const ScoredId&) const = default;
};

/// The hits of an answer to a query, in order; none if it is no such answer.
[[nodiscard]] std::vector<ScoredId> hits_of(std::string_view answer);

/// Ids of `truth`, best first, that are there: it ends at the first -1.
[[nodiscard]] std::span<const std::int64_t> matches(std::span<const std::int64_t> truth);

/// Different hits that are in `truth` or whose score is `last_score`, of the last one in it, within
/// 1e-6 of the largest score; divided by its size, at most 1. With nothing to find it is 1.
[[nodiscard]] double recall_of(std::span<const ScoredId> hits, std::span<const std::int64_t> truth,
                               std::optional<double> last_score);

/// Asks each query once, after the measurement, and where one of the true points is missed for the
/// score of the last of them. Query i is row `queries.batch.first_row + i` of the ground truth.
/// kInvalidArgument if that has too few rows or ids.
[[nodiscard]] Result<NetworkRecall> recall_over_network(const Endpoint& endpoint,
                                                        const LoadOptions& options,
                                                        const dataset::Vectors& queries);

}  // namespace quiver::app
