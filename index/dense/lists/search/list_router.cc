#include "index/dense/lists/search/list_router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quiver::index::dense {
namespace {

/// Centroids compared per wanted list, and at least: their codes give not quite the right order.
constexpr std::size_t kScoredCentroidsPerList = 3;
constexpr std::size_t kMinScoredCentroids = 16;
/// Usual error of a product estimated by codes of one bit, times sqrt(dimension), as a share of the
/// product of the lengths.
constexpr float kUsualCodeError = 0.75F;
/// Least allowance for the error of centroid codes, in `gap_unit`s / sqrt(dimension).
constexpr float kCodeErrorFactor = 1.5F;

float greatest(std::span<const float> values) {
  constexpr std::size_t kLanes = 16;  // independent maxima: a single one would serialise the loop
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      lanes[j] = values[i + j] > lanes[j] ? values[i + j] : lanes[j];
    }
  }
  for (; i < values.size(); ++i) lanes[0] = std::max(lanes[0], values[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

/// The best `n` of `probes`, sorted.
std::span<const Probe> best_of(std::vector<Probe>& probes, std::size_t n) {
  if (n < probes.size()) {
    std::nth_element(probes.begin(), probes.begin() + static_cast<std::ptrdiff_t>(n), probes.end());
    probes.resize(n);
  }
  std::sort(probes.begin(), probes.end());
  return probes;
}

}  // namespace

std::span<const Probe> ListRouter::nearest(const RotatedQuery& query, std::size_t n,
                                           ScanScratch& scan, RouteScratch& scratch) const {
  const std::size_t want = kScoredCentroidsPerList * n + kMinScoredCentroids;
  if (want > lists_.n_lists() / 2) {
    score_all(query, scratch);
  } else {
    CodeHits hits = estimate_nearest(query, want, scan, scratch);
    kernels().codes.keep_best(hits, want);
    for (std::size_t i = 0; i < hits.n; ++i) hits.positions[i] = list_at(hits.positions[i]);
    scratch.probes.clear();
    score(query, {hits.positions, hits.n}, scratch);
  }
  return best_of(scratch.probes, n);
}

std::span<const Probe> ListRouter::within(const RotatedQuery& query, float gap, std::size_t most,
                                          ScanScratch& scan, RouteScratch& scratch) const {
  if (lists_.n_lists() <= kMinScoredCentroids) {
    score_all(query, scratch);
  } else {
    const float base = score_of_mean(query);
    const CodeHits hits = estimate_within(query, base, gap, scan, scratch);
    const float least = bar_of_codes(greatest({hits.scores, hits.n}), base, gap);
    scratch.near.resize(hits.n);
    const std::size_t n = kernels().topk.at_least(hits.scores, hits.n, least, scratch.near.data());
    for (std::size_t i = 0; i < n; ++i) scratch.near[i] = list_at(hits.positions[scratch.near[i]]);
    scratch.probes.clear();
    score(query, {scratch.near.data(), n}, scratch);
  }
  auto& probes = scratch.probes;
  // Huge values give NaN keys, and no best list.
  if (probes.empty()) return probes;
  const float least = bar(std::min_element(probes.begin(), probes.end())->key, gap);
  std::erase_if(probes, [least](const Probe& probe) { return probe.key < least; });
  return best_of(probes, most);
}

/// The least key within `gap` of the best.
float ListRouter::bar(float best, float gap) const {
  return best - gap * gap_unit(similarity_, best, lists_.facts());
}

/// The least estimate of a list whose key may be within `gap` of the best. `greatest`: of the
/// estimates, which may be too great, or even that of a list beyond the query. `base`: score of the
/// mean, from which far queries and centroids have large errors.
float ListRouter::bar_of_codes(float greatest, float base, float gap) const {
  const auto& facts = lists_.facts();
  const float root = std::sqrt(static_cast<float>(facts.padded_dim));
  const bool is_distance = similarity_ == Similarity::kNegL2Squared;
  const float length = is_distance ? 2 * std::sqrt(std::max(0.0F, -base)) : facts.length;
  const float usual = kUsualCodeError * length * lists_.centroid_spread() / root;
  const float error = std::isfinite(usual) ? usual : 0;
  const float unit = gap_unit(similarity_, greatest - error, facts);
  return greatest - gap * unit - std::max(error, kCodeErrorFactor * unit / root);
}

/// Larger numbers appear only if the file is damaged while it is in use.
std::uint32_t ListRouter::list_at(std::uint32_t place) const {
  return std::min(place, lists_.n_lists() - 1);
}

/// Score of the mean of the centroids, around which they are coded.
float ListRouter::score_of_mean(const RotatedQuery& query) const {
  return kernels()
      .dense(similarity_, RowType::kF32)
      .one(query.values.data(), lists_.facts().padded_dim,
           reinterpret_cast<const std::byte*>(lists_.mean().data()));
}

/// Estimates the keys of all lists by their centroids' codes.
CodeHits ListRouter::estimate(const RotatedQuery& query, float base, ScanScratch& scan) const {
  CodeScan centroids(lists_.n_lists(), scan);
  centroids.scan(query.tables, lists_.routes(), base, nullptr, 0);
  return centroids.best();
}

CodeHits ListRouter::estimate_regions(const RotatedQuery& query, float base,
                                      ScanScratch& scan) const {
  CodeScan regions(lists_.n_regions(), scan);
  regions.scan(query.tables, lists_.region_codes(), base, nullptr, 0);
  return regions.best();
}

/// Estimates the keys of the lists in `regions`, which ascend, and of some others.
CodeHits ListRouter::estimate_in(std::span<const std::uint32_t> regions, const RotatedQuery& query,
                                 float base, ScanScratch& scan) const {
  constexpr std::uint32_t kRows = CodeBlocks::kRows;
  const CodeBlocks routes = lists_.routes();
  CodeScan centroids(lists_.n_lists(), scan);
  std::uint32_t next = 0;  // two regions may share a block
  for (const std::uint32_t region : regions) {
    if (region >= lists_.n_regions()) break;  // the file is damaged while it is in use
    const std::uint32_t begin = std::max(next, lists_.first_list(region) / kRows);
    next = (lists_.first_list(region + 1) + kRows - 1) / kRows;
    if (begin >= next) continue;
    CodeBlocks blocks = routes;
    blocks.first += begin * routes.block_bytes();
    blocks.n = next - begin;
    centroids.scan(query.tables, blocks, base, nullptr, begin * kRows);
  }
  return centroids.best();
}

/// Estimates the keys of the lists in all regions that may have a list within `gap`.
CodeHits ListRouter::estimate_within(const RotatedQuery& query, float base, float gap,
                                     ScanScratch& scan, RouteScratch& scratch) const {
  if (lists_.n_regions() == 0) return estimate(query, base, scan);
  const CodeHits found = estimate_regions(query, base, scan);
  const float least =
      bar_of_codes(greatest({found.scores, found.n}), base, gap + lists_.region_gap());
  scratch.regions.resize(found.n);
  scratch.regions.resize(
      kernels().topk.at_least(found.scores, found.n, least, scratch.regions.data()));
  // Huge values give estimates that are no numbers.
  if (scratch.regions.empty()) return estimate(query, base, scan);
  for (std::uint32_t& region : scratch.regions) region = found.positions[region];
  return estimate_in(scratch.regions, query, base, scan);
}

/// Estimates the keys of the lists in the nearest regions, which have many times `n` lists.
CodeHits ListRouter::estimate_nearest(const RotatedQuery& query, std::size_t n, ScanScratch& scan,
                                      RouteScratch& scratch) const {
  constexpr std::size_t kListsPerWanted = 16;
  const std::size_t n_regions = lists_.n_regions();
  const std::size_t n_near = 1 + kListsPerWanted * n * n_regions / lists_.n_lists();
  const float base = score_of_mean(query);
  if (n_near > n_regions / 2) return estimate(query, base, scan);
  CodeHits found = estimate_regions(query, base, scan);
  kernels().codes.keep_best(found, n_near);
  if (found.n == 0) return estimate(query, base, scan);
  scratch.regions.assign(found.positions, found.positions + found.n);
  std::sort(scratch.regions.begin(), scratch.regions.end());
  return estimate_in(scratch.regions, query, base, scan);
}

void ListRouter::add(std::uint32_t list, float base, RouteScratch& scratch) const {
  const float key = list_key(similarity_, base, lists_.reach(list));
  scratch.probes.push_back({key, base, list});
}

void ListRouter::score(const RotatedQuery& query, std::span<const std::uint32_t> lists,
                       RouteScratch& scratch) const {
  scratch.scores.resize(lists.size());
  kernels()
      .dense(similarity_, RowType::kBf16)
      .gather(query.values.data(), lists_.facts().padded_dim, lists_.centroids(),
              lists_.centroid_stride(), lists.data(), lists.size(), scratch.scores.data());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    add(lists[i], scratch.scores[i], scratch);
  }
}

void ListRouter::score_all(const RotatedQuery& query, RouteScratch& scratch) const {
  scratch.scores.resize(lists_.n_lists());
  kernels()
      .dense(similarity_, RowType::kBf16)
      .many(query.values.data(), lists_.facts().padded_dim, lists_.centroids(),
            lists_.centroid_stride(), lists_.n_lists(), scratch.scores.data());
  scratch.probes.clear();
  for (std::uint32_t list = 0; list < lists_.n_lists(); ++list) {
    add(list, scratch.scores[list], scratch);
  }
}

WideningRoute::WideningRoute(const ListRouter& router, const RotatedQuery& query, ScanScratch& scan,
                             RouteScratch& scratch)
    : router_(router), query_(query), scratch_(scratch) {
  const std::uint32_t n_lists = router.lists_.n_lists();
  scratch.returned.assign(n_lists, 0);
  scratch.probes.clear();
  if (n_lists <= kMinScoredCentroids) {
    router.score_all(query, scratch);
  } else {
    base_ = router.score_of_mean(query);
    estimates_ = router.estimate(query, base_, scan);
    greatest_ = greatest({estimates_.scores, estimates_.n});
  }
}

std::span<const Probe> WideningRoute::within(float gap) {
  auto& probes = scratch_.probes;
  probes.erase(probes.begin(),
               probes.begin() + static_cast<std::ptrdiff_t>(std::exchange(n_last_, 0)));
  score_near(gap);
  // Huge values give NaN keys, and no best list.
  if (probes.empty()) return probes;
  if (n_returned_ == 0) best_key_ = std::min_element(probes.begin(), probes.end())->key;
  const float least = router_.bar(best_key_, gap);
  const auto end = std::partition(probes.begin(), probes.end(),
                                  [least](const Probe& probe) { return !(probe.key < least); });
  return take(static_cast<std::size_t>(end - probes.begin()));
}

std::span<const Probe> WideningRoute::rest() {
  router_.score_all(query_, scratch_);
  std::erase_if(scratch_.probes, [this](const Probe& p) { return scratch_.returned[p.list] != 0; });
  n_last_ = 0;
  return take(scratch_.probes.size());
}

/// Compares the centroids that may be within the gap and were not compared yet.
void WideningRoute::score_near(float gap) {
  if (estimates_.n == 0) return;
  const float least = router_.bar_of_codes(greatest_, base_, gap);
  scratch_.near.resize(estimates_.n);
  std::uint32_t* near = scratch_.near.data();
  const std::size_t n = kernels().topk.at_least(estimates_.scores, estimates_.n, least, near);
  for (std::size_t i = 0; i < n; ++i) {
    estimates_.scores[near[i]] = -std::numeric_limits<float>::infinity();
    near[i] = router_.list_at(estimates_.positions[near[i]]);
  }
  router_.score(query_, {near, n}, scratch_);
}

/// Returns the first `n` probes in order.
std::span<const Probe> WideningRoute::take(std::size_t n) {
  const auto taken = std::span(scratch_.probes).first(n);
  std::sort(taken.begin(), taken.end());
  for (const Probe& probe : taken) scratch_.returned[probe.list] = 1;
  n_last_ = n;
  n_returned_ += n;
  return taken;
}

}  // namespace quiver::index::dense
