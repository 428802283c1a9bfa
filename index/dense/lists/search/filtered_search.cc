// Search with a filter, which must scan more lists than one without.
#include <algorithm>
#include <cmath>
#include <limits>

#include "index/dense/lists/search/candidate_search_impl.h"

namespace quiver::index::dense {

/// 1. Scans the lists of an unfiltered search, without the filter.
/// 2. Measures their reach: k-th best score minus the key of the last list.
/// 3. Scans lists until keys are more than this reach below the k-th best allowed row. So the
/// number of lists grows as far as the filter pushes the best rows away.
///
/// False if estimates cannot tell the best rows: the filter took the near rows, many others are
/// about equally far, and the kept rows span a smaller range of scores than without the filter.
Result<bool> CandidateSearch::scan_filtered(const Search& search) const {
  const auto& request = search.request;
  auto& scratch = search.scratch;
  const std::size_t rerank = request.params.rerank;
  const bool allows_most = search.selectivity > cost::kTestFoundRowsAbove;
  const double want = static_cast<double>(rerank) / (allows_most ? search.selectivity : 1);
  CodeScan scan(static_cast<std::size_t>(want), scratch.scan);
  const auto probes = route(search, request.params);
  if (probes.empty()) return false;
  QV_TRY(const Reach reach, reach_of(search, probes, scan));
  const float end = probes.back().key;
  if (allows_most && reach.lists != kWholeReach &&
      scan.narrow(request.filter, lists_.rows(), rerank)) {
    QV_TRY(scan_beyond(search, end, reach.lists, scan));
  } else {
    scan = CodeScan(rerank, scratch.scan);
    QV_TRY(scan_below(search, std::numeric_limits<float>::infinity(), reach.lists, scan));
  }
  const float depth = scan.kth(request.k) - scan.kth(rerank);
  collect_rows(scan.best(), scratch);
  return can_rank_best(search, reach.rows, depth);
}

/// Scans the lists within `reach` whose keys are below `end`, if there are any.
Result<> CandidateSearch::scan_beyond(const Search& search, float end, float reach,
                                      CodeScan& scan) const {
  const float rounding = 1e-6F * (std::abs(end) + std::abs(reach));
  if (least_key(search, reach, scan) >= end - rounding) return {};
  return scan_below(search, end, reach, scan);
}

/// Scans the lists within `reach` whose keys are below `end`. Tries first a wider gap than without
/// a filter, because it usually contains all of them: sorting all lists takes as long as scanning
/// some.
Result<> CandidateSearch::scan_below(const Search& search, float end, float reach,
                                     CodeScan& scan) const {
  constexpr double kGapWidening = 1.5;
  constexpr double kGapWideningPerHalving = 0.25;
  const double widening =
      kGapWidening + kGapWideningPerHalving * std::log2(1 / std::max(search.selectivity, 1e-3));
  const auto beyond = [&](std::span<const Probe> probes) {
    const auto is_above = [end](const Probe& probe) { return probe.key >= end; };
    return std::span(std::partition_point(probes.begin(), probes.end(), is_above), probes.end());
  };
  ListsSearchParams wider = search.request.params;
  wider.gap *= widening;
  wider.nprobe = static_cast<std::uint32_t>(std::min(1e9, wider.nprobe * widening));
  const auto some = beyond(route(search, wider));
  QV_TRY(const bool is_done, scan_lists(search, some, reach, scan));
  if (is_done) return {};
  if (!some.empty()) end = some.back().key;
  const ListRouter router(lists_, similarity_);
  const auto all = router.nearest(search.query, lists_.n_lists(), search.scratch.centroids,
                                  search.scratch.route);
  QV_TRY(scan_lists(search, beyond(all), reach, scan));
  return {};
}

/// `usual`, `depth`: range of scores of the kept rows without and with the filter. On arxiv-100k,
/// random filters and filters of near rows stayed above .55 of it, and filters of far rows below. A
/// tenth of random filters came below .8.
bool CandidateSearch::can_rank_best(const Search& search, float usual, float depth) const {
  constexpr float kMinDepthShare = 0.55F;
  constexpr float kMinDepthShareIfExactIsCheap = 0.8F;
  constexpr double kCheapExactFactor = 3;
  const auto& request = search.request;
  const double n_scanned_bytes = static_cast<double>(request.work.n_bytes - search.n_bytes_before);
  const bool is_cheap = request.exact_bytes < kCheapExactFactor * n_scanned_bytes;
  return depth >= (is_cheap ? kMinDepthShareIfExactIsCheap : kMinDepthShare) * usual;
}

/// Scans `probes` without the filter and returns their reach.
Result<CandidateSearch::Reach> CandidateSearch::reach_of(const Search& search,
                                                         std::span<const Probe> probes,
                                                         CodeScan& scan) const {
  const auto& request = search.request;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (i % kListsPerPoll == 0) QV_TRY(request.cancel.check());
    const CodeBlocks blocks = lists_.blocks(probes[i].list);
    scan.scan(search.query.tables, blocks, probes[i].base, nullptr,
              lists_.first_position(probes[i].list));
    count(blocks, request.work);
  }
  const float kth = scan.kth(request.k);
  const float last = scan.kth(request.params.rerank);
  const bool is_whole = probes.size() == lists_.n_lists() || kth == -kWholeReach;
  return Reach{is_whole ? kWholeReach : kth - probes.back().key,
               last == -kWholeReach ? 0 : kth - last};
}

}  // namespace quiver::index::dense
