// The k-NN graph of a join's rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/joins.h"
#include "engine/query/joins/neighbour_search.h"

namespace quiver::engine {

/// `k` places for each row, of which the first ones are filled. Memory: 8 bytes a place.
class KnnGraph {
 public:
  KnnGraph(std::size_t n_rows, std::uint64_t k)
      : k_(k), entries_(n_rows * k), n_entries_(n_rows, 0) {}

  [[nodiscard]] std::size_t n_rows() const { return n_entries_.size(); }
  [[nodiscard]] std::uint64_t k() const { return k_; }
  /// Best first.
  [[nodiscard]] std::span<const Neighbour> of(std::uint32_t row) const {
    return {entries_.data() + row * k_, n_entries_[row]};
  }
  /// At most `k`. Different threads may set different rows.
  void set(std::uint32_t row, std::span<const Neighbour> best);

 private:
  std::uint64_t k_;
  std::vector<Neighbour> entries_;
  std::vector<std::uint32_t> n_entries_;
};

/// The graph by searches from each row. A pair that a search from one of its rows has found counts
/// for the other one, too: that mends most of what searches miss. kInvalidArgument if the graph
/// would have more than kMaxJoinEntries.
[[nodiscard]] Result<KnnGraph> knn_graph(const NeighbourSearch& search, std::uint64_t k,
                                         JoinProgress& progress);

}  // namespace quiver::engine
