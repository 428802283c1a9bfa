// Choice of the lists that a search scans.
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
  float key = 0;   ///< `list_key`: greater is nearer
  float base = 0;  ///< score of the centroid
  std::uint32_t list = 0;

  /// Nearest first; ties by list number.
  friend bool operator<(const Probe& a, const Probe& b) {
    return a.key != b.key ? a.key > b.key : a.list < b.list;
  }
};

/// A rotated query; under Dot as long as rows (`stretch`).
struct RotatedQuery {
  std::span<const float> values;  ///< `[padded_dim]`
  CodeTables tables;
};

/// Memory of a rotated query, aligned to cache lines.
struct QueryLines {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> values;
  std::vector<Line> tables;
};

/// Memory of one thread's routing, reused.
struct RouteScratch {
  std::vector<float> scores;
  std::vector<std::uint32_t> near;
  std::vector<Probe> probes;
};

/// Lists by key, nearest first. With many lists, centroids whose codes say that they are far are
/// not compared.
class ListRouter {
 public:
  ListRouter(const Partition& lists, Similarity similarity)
      : lists_(lists), similarity_(similarity) {}

  /// The `n` nearest lists, nearest first.
  std::span<const Probe> nearest(const RotatedQuery& query, std::size_t n, ScanScratch& scan,
                                 RouteScratch& scratch) const;
  /// The lists whose keys are at most `gap` `gap_unit`s below the best one; at most `most` lists.
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
