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

/// A transformed query; under Dot as long as rows (`stretch`).
struct RotatedQuery {
  std::span<const float> values;  ///< `[padded_dim]`
  CodeTables tables;
  float lost = 0;  ///< square of the usual error of <q, x> for |x| = 1, by a reduction
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
  std::vector<std::uint32_t> regions;
  std::vector<Probe> probes;
  std::vector<std::uint8_t> returned;  ///< by list, of a `WideningRoute`
};

/// Lists by key, nearest first. With many lists, centroids whose codes say that they are far are
/// not compared. With very many, the codes of centroids in far regions are not read.
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
  friend class WideningRoute;

  [[nodiscard]] std::uint32_t list_at(std::uint32_t place) const;
  [[nodiscard]] float bar(float best, float gap) const;
  [[nodiscard]] float bar_of_codes(float greatest, float base, float gap) const;
  [[nodiscard]] float score_of_mean(const RotatedQuery& query) const;
  [[nodiscard]] CodeHits estimate(const RotatedQuery& query, float base, ScanScratch& scan) const;
  [[nodiscard]] CodeHits estimate_regions(const RotatedQuery& query, float base,
                                          ScanScratch& scan) const;
  [[nodiscard]] CodeHits estimate_in(std::span<const std::uint32_t> regions,
                                     const RotatedQuery& query, float base,
                                     ScanScratch& scan) const;
  [[nodiscard]] CodeHits estimate_within(const RotatedQuery& query, float base, float gap,
                                         ScanScratch& scan, RouteScratch& scratch) const;
  [[nodiscard]] CodeHits estimate_nearest(const RotatedQuery& query, std::size_t n,
                                          ScanScratch& scan, RouteScratch& scratch) const;
  void add(std::uint32_t list, float base, RouteScratch& scratch) const;
  /// Appends the lists to `scratch.probes`.
  void score(const RotatedQuery& query, std::span<const std::uint32_t> lists,
             RouteScratch& scratch) const;
  void score_all(const RotatedQuery& query, RouteScratch& scratch) const;

  const Partition& lists_;
  Similarity similarity_;
};

/// The lists in portions, by falling key, for searches that do not know how many they need. A
/// centroid is compared once at most. Borrows its arguments; `scan` is not used for anything else
/// meanwhile.
class WideningRoute {
 public:
  WideningRoute(const ListRouter& router, const RotatedQuery& query, ScanScratch& scan,
                RouteScratch& scratch);

  /// The lists whose keys are at most `gap` `gap_unit`s below the best one, without those returned
  /// before, nearest first. Valid until the next call. Gaps do not fall from call to call.
  std::span<const Probe> within(float gap);
  /// All lists that were not returned.
  std::span<const Probe> rest();
  /// True if every list was returned.
  [[nodiscard]] bool is_over() const { return n_returned_ == router_.lists_.n_lists(); }

 private:
  void score_near(float gap);
  std::span<const Probe> take(std::size_t n);

  const ListRouter& router_;
  const RotatedQuery& query_;
  RouteScratch& scratch_;
  float base_ = 0;          ///< score of the mean
  CodeHits estimates_;      ///< of lists whose centroids were not compared; minus infinity: it was
  float greatest_ = 0;      ///< of the estimates
  float best_key_ = 0;      ///< of the first lists
  std::size_t n_last_ = 0;  ///< probes at the front that the last call returned
  std::size_t n_returned_ = 0;
};

}  // namespace quiver::index::dense
