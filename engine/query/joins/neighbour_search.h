// Searches for the neighbours of many rows of a join, a batch of similar rows at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/joins.h"
#include "engine/query/joins/join_rows.h"
#include "engine/query/stages/environment.h"
#include "index/index.h"

namespace quiver::engine {

struct Neighbour {
  std::uint32_t position = 0;  ///< in JoinRows
  float score = 0;             ///< larger is better

  /// The order of every answer: positions are in the order of ids.
  friend bool is_better(const Neighbour& a, const Neighbour& b) {
    return a.score != b.score ? a.score > b.score : a.position < b.position;
  }
};
using Neighbours = std::vector<Neighbour>;

/// Thread-safe. Borrows the environment and the rows.
class NeighbourSearch {
 public:
  /// kInvalidArgument for parameters that the field's index does not know.
  [[nodiscard]] static Result<NeighbourSearch> make(const SearchEnvironment& environment,
                                                    const JoinRows& rows,
                                                    const SearchParams& params);

  /// The `k` nearest others of each row, best first. One thread.
  [[nodiscard]] Result<std::vector<Neighbours>> find(std::span<const std::uint32_t> positions,
                                                     std::uint64_t k) const;
  /// Exact score of two rows, the same bits as `find` gives `to` as a neighbour of `query`.
  /// nullopt: sparse vectors without an index in common.
  [[nodiscard]] std::optional<float> score(const index::PreparedQuery& query,
                                           std::uint32_t to) const;
  [[nodiscard]] const JoinRows& rows() const { return rows_; }
  [[nodiscard]] const SearchEnvironment& environment() const { return environment_; }

 private:
  NeighbourSearch(const SearchEnvironment& environment, const JoinRows& rows)
      : environment_(environment), rows_(rows) {}
  /// Adds the hits in one segment to `found`.
  Result<> search_part(std::size_t part, std::span<const index::PreparedQuery* const> queries,
                       std::uint64_t k, std::vector<Neighbours>& found) const;

  const SearchEnvironment& environment_;
  const JoinRows& rows_;
  index::Prefer prefer_ = index::Prefer::kAny;
  std::vector<index::AnyParams> params_;  ///< one for each part
};

/// Calls `work(batch)` for parts of `order`, on all threads of the environment's executor, and adds
/// the size of each to `progress`. Ends at the first error.
[[nodiscard]] Result<> for_each_batch(
    const SearchEnvironment& environment, std::span<const std::uint32_t> order,
    JoinProgress& progress, const std::function<Result<>(std::span<const std::uint32_t>)>& work);

}  // namespace quiver::engine
