// Recall of a server's answers, given the true nearest neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/load/load.h"
#include "dataset/vectors.h"
#include "service/client/http.h"

namespace quiver::bench {

/// Recall over all queries.
struct NetworkRecall {
  double mean = 0;
  double p5 = 0;  ///< 5th percentile over queries, nearest rank
  std::uint64_t n_queries = 0;
  std::uint64_t n_short = 0;  ///< answers with fewer than min(k, matches) hits
};

struct ScoredId {
  std::int64_t id = -1;  ///< -1 for a UUID, which no ground truth holds
  double score = 0;
  bool operator==(const ScoredId&) const = default;
};

/// Parses the hits of an answer to a query, in order; none if the answer has another form.
[[nodiscard]] std::vector<ScoredId> hits_of(std::string_view answer);

/// The ids of `truth`, best first, before the first -1.
[[nodiscard]] std::span<const std::int64_t> matches(std::span<const std::int64_t> truth);

/// Share of `truth` that is found, at most 1; 1 if `truth` is empty. A hit counts, once per id, if
/// its id is in `truth` or its score ties with `last_score`, the score of the last id in `truth`:
/// they differ by at most 1e-6 of the largest score.
[[nodiscard]] double recall_of(std::span<const ScoredId> hits, std::span<const std::int64_t> truth,
                               std::optional<double> last_score);

/// Sends each query once more, after the measurement. If a true point is missing, it also asks for
/// the score of the last true point. Query i is row `queries.batch.first_row + i` of the ground
/// truth. kInvalidArgument if the truth has too few rows or ids.
[[nodiscard]] Result<NetworkRecall> recall_over_network(const client::Endpoint& endpoint,
                                                        const LoadOptions& options,
                                                        const dataset::Vectors& queries);

}  // namespace quiver::bench
