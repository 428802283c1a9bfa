// Which lists a search should scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/code_scan.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

struct Probe {
  float key = 0;   ///< `list_key`: the greater, the nearer
  float base = 0;  ///< the centroid's score
  std::uint32_t list = 0;

  /// Nearest first; ties are ordered by list.
  friend bool operator<(const Probe& a, const Probe& b) {
    return a.key != b.key ? a.key > b.key : a.list < b.list;
  }
};

/// A query as the lists are searched with it: under Dot as long as rows are.
struct RotatedQuery {
  std::span<const float> values;  ///< `[padded_dim]`
  CodeTables tables;
};

/// The memory of a rotated query, on cache lines.
struct QueryLines {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> values;
  std::vector<Line> tables;
};

/// What one thread's routing writes to; kept from one search to the next.
struct RouteScratch {
  std::vector<float> scores;
  std::vector<std::uint32_t> near;
  std::vector<Probe> probes;
};

/// Lists by their keys, nearest first. With many lists, those whose codes tell
/// that they are far are never looked at.
class ListRouter {
 public:
  ListRouter(const Partition& lists, Similarity similarity)
      : lists_(lists), similarity_(similarity) {}

  /// The `n` nearest lists.
  std::span<const Probe> nearest(const RotatedQuery& query, std::size_t n, ScanScratch& scan,
                                 RouteScratch& scratch) const;
  /// The lists whose keys are at most `gap`, in `gap_unit`s, less than the best one, but no more
  /// than `most`.
  std::span<const Probe> within(const RotatedQuery& query, float gap, std::size_t most,
                                ScanScratch& scan, RouteScratch& scratch) const;

 private:
  [[nodiscard]] std::uint32_t list_at(std::uint32_t place) const;
  [[nodiscard]] CodeHits estimate(const RotatedQuery& query, ScanScratch& scan) const;
  void add(std::uint32_t list, float base, RouteScratch& scratch) const;
  void score(const RotatedQuery& query, std::span<const std::uint32_t> lists,
             RouteScratch& scratch) const;
  void score_all(const RotatedQuery& query, RouteScratch& scratch) const;

  const Partition& lists_;
  Similarity similarity_;
};

}  // namespace quiver::index::dense
