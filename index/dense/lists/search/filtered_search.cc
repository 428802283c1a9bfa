// Search with a filter. A strict one must scan more lists than none.
#include <algorithm>
#include <cmath>

#include "index/dense/lists/search/candidate_search_impl.h"

namespace quiver::index::dense {
namespace {

/// Rows that are kept if estimates cannot tell the best of `rerank` rows, as a multiple.
constexpr std::size_t kMoreRows = 16;
/// Lists scanned before the first look at the stop.
constexpr std::size_t kListsBeforeLook = 4;
/// One more list between two looks for so many lists scanned: a look takes as long as a list.
constexpr std::size_t kListsPerLongerLook = 8;

/// Share of the found rows that a filter must leave, relative to its share of all rows, for the gap
/// to end the scan. Otherwise it denies near rows, and lists farther away have the best.
constexpr double kLeastKeptShare = 0.9;
/// The gap grows in steps until the scan ends. After so many all lists are scanned: without an end,
/// lists without a key (NaN, by huge values) would be waited for.
constexpr double kGapStep = 1.25;
constexpr int kMaxGapSteps = 20;
/// The first lists are those within this share of the gap: `stop` may spare comparing the centroids
/// of the others.
constexpr double kFirstGap = 0.64;
constexpr int kStepsToUsualGap = 2;
/// The kept rows of a random filter are spread over more of the order than without: `stop` falls
/// with each halving of its share, slowly at first. Fitted to recall without a filter, on
/// arxiv-100k.
constexpr double kStopFactorOfAll = 1.14;
constexpr double kStopFactorToHalf = -0.275;
constexpr double kStopFactor = 0.975;
constexpr double kStopFactorPerHalving = -0.11;
constexpr double kLeastStopFactor = 0.38;
/// The gap grows with the rank of the k-th allowed row among all rows, as `settled` lets it grow
/// with k.
constexpr double kGapExponent = -0.1;
/// Deviation of estimates from codes of one bit, in `gap_unit`s / sqrt(dimension). Each bit halves
/// it.
constexpr double kDeviationOfBits = 0.75;
/// Rows with estimates at most so many deviations below the k-th best are kept, for ten hits; where
/// that are many, they lie close together, and the k best are farther down. Of more hits an error
/// takes a smaller share: * (10 / k)^kDeviationsExponent.
constexpr double kNearDeviations = 2.5;
constexpr double kNearDeviationsOfMany = 3;
constexpr double kDeviationsExponent = 0.25;

/// Adapts `params` to a filter that allows `share` of the rows.
void widen(ListsSearchParams& params, double share) {
  const double n = params.nprobe * std::pow(share, cost::kFilteredListsExponent);
  params.nprobe = static_cast<std::uint32_t>(std::min(1e9, std::ceil(n)));
  params.gap *= std::pow(share, kGapExponent);
}

/// Of `stop`, if `share` of the rows pass.
double stop_factor(double share) {
  const double halvings = std::log2(1 / share);
  if (halvings < 1) return kStopFactorOfAll + kStopFactorToHalf * halvings * halvings;
  return std::max(kLeastStopFactor, kStopFactor + kStopFactorPerHalving * halvings);
}

/// Share of the allowed rows among the nearest ones, relative to their share of all rows, below
/// which lists are no guide: the filter denies the near rows. Of the nearest rows so many are
/// looked at that a random filter allows this number.
constexpr double kLeastShareForLists = 0.5;
constexpr double kWatchedRows = 32;
/// Of `stop`, if lists are no guide but sign codes of all allowed rows would take too long.
constexpr double kStopFactorIfMisled = 1.9;

/// Codes of fewer dimensions err so much that a search must look how far: one with a filter does.
constexpr std::uint32_t kLeastDimsOfLoose = 64;
/// The number of allowed ones among n random rows differs from its mean by no more than so many
/// deviations, nearly always.
constexpr double kDeviationsOfShare = 3;

double spread_of_allowed(double n, double share) {
  return kDeviationsOfShare * std::sqrt(n * share * (1 - share));
}

/// Of so many random rows at least `n` are allowed.
double rows_with_allowed(double n, double share) {
  return std::ceil((n + spread_of_allowed(n / share, share)) / share);
}

}  // namespace

/// How far a scan of lists by falling key has come.
struct CandidateSearch::Progress {
  std::size_t n_lists = 0;
  float least = -kWholeReach;  ///< lists with keys below have no better rows
};

bool CandidateSearch::scans_as_all(double selectivity) const {
  if (selectivity >= 1) return true;
  return selectivity > cost::kTestFoundRowsAbove && transform().dim() >= kLeastDimsOfLoose;
}

/// The same request of all rows, for so many that about as many allowed ones are among them.
CandidateRequest CandidateSearch::of_all_rows(const CandidateRequest& asked) const {
  const double share = selectivity(asked.n_allowed);
  ListsSearchParams params = asked.params;
  widen(params, share);
  const auto k = static_cast<std::size_t>(rows_with_allowed(static_cast<double>(asked.k), share));
  const double rerank = std::min(1e6, rows_with_allowed(params.rerank, share));
  params.rerank =
      std::max(static_cast<std::uint32_t>(rerank), static_cast<std::uint32_t>(least_codes(k)));
  return {.vector = asked.vector,
          .k = k,
          .params = params,
          .filter = all_rows_,
          .n_allowed = n_present_,
          .cancel = asked.cancel,
          .work = asked.work,
          .device = asked.device};
}

/// True if the k best allowed rows are about as near as the best of all, of which lists for
/// `k_of_all` were scanned. By estimates, of all codes found: which of its two codes a row came by
/// depends on the order of the scan.
bool CandidateSearch::are_near(const CandidateRequest& asked, const CodeHits& found,
                               Scratch& scratch) const {
  const double share = selectivity(asked.n_allowed);
  const auto k_of_all =
      static_cast<std::size_t>(rows_with_allowed(static_cast<double>(asked.k), share));
  const std::size_t rank = least_codes(k_of_all);
  if (found.n <= rank) return true;
  const float last = kth_greatest({found.scores, found.n}, rank, scratch.scan);
  std::size_t n_near = 0;
  const auto for_each_near = [&](auto&& visit) {
    for (std::size_t i = 0; i < found.n; ++i) {
      const std::uint32_t row = lists_.rows()[found.positions[i]];
      if (found.scores[i] >= last && row < n_rows_) {
        visit(row, scratch.seen[row / 64], std::uint64_t{1} << (row % 64));
      }
    }
  };
  for_each_near([&](std::uint32_t row, std::uint64_t& seen, std::uint64_t bit) {
    n_near += (seen & bit) == 0 && asked.filter.allows(row) ? 1 : 0;
    seen |= bit;
  });
  for_each_near([](std::uint32_t, std::uint64_t& seen, std::uint64_t bit) { seen &= ~bit; });
  return n_near >= std::min(asked.k, asked.n_allowed);
}

/// Drops the denied ones of `scratch.rows`, which come from the codes `found` of all rows. False if
/// too few are left, or if the filter denies more near rows than others: other lists may then have
/// better ones.
bool CandidateSearch::drop_denied(const CandidateRequest& asked, const CodeHits& found,
                                  Scratch& scratch) const {
  if (asked.filter.allows_all() || selectivity(asked.n_allowed) >= 1) return true;
  if (asked.filter.n_rows() < n_rows_ || !are_near(asked, found, scratch)) return false;
  auto& rows = scratch.rows;
  const auto n_found = static_cast<double>(rows.size());
  std::size_t n = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t row = rows[i];
    rows[n] = row;
    scratch.scores[n] = scratch.scores[i];
    n += asked.filter.allows(row) ? 1 : 0;
  }
  rows.resize(n);
  if (n < std::min(asked.k, asked.n_allowed)) return false;
  const double share = selectivity(asked.n_allowed);
  return static_cast<double>(n) + spread_of_allowed(n_found, share) >=
         kLeastKeptShare * share * n_found;
}

/// Candidates of a search that scans until allowed rows are near enough.
Result<ListCandidates> CandidateSearch::find_filtered(const CandidateRequest& asked,
                                                      const RotatedQuery& query,
                                                      Scratch& scratch) const {
  const Search search{asked, query, selectivity(asked.n_allowed), scratch};
  QV_TRY(const bool is_conclusive, scan_filtered(search));
  if (second_ && is_conclusive) refine(search);
  return ListCandidates{scratch.rows, std::span(scratch.scores).first(scratch.rows.size()),
                        is_conclusive};
}

/// Scans lists by falling key until the next key is too far below the kept rows for a list with
/// better ones (`stop` in params.h). The kept rows are allowed, so the number of lists grows as far
/// as the filter pushes the best rows away.
///
/// False if it takes too long, if the filter denies the near rows and there are sign codes, or if
/// too many rows are so near that estimates cannot tell the best.
Result<bool> CandidateSearch::scan_filtered(const Search& search) const {
  CodeScan scan(search.request.params.rerank, search.scratch.scan);
  scan.watch(kWatchedRows / search.selectivity);
  QV_TRY(scan_allowed(search, scan));
  if (search.takes_too_long() || prefers_all_signs(search, scan)) return false;
  const CodeHits& best = scan.best();
  if (!scan.has_all_near()) return false;
  collect_rows(best, search.scratch);
  return true;
}

Result<> CandidateSearch::scan_allowed(const Search& search, CodeScan& scan) const {
  ListsSearchParams params = search.request.params;
  const double share = std::max(search.selectivity, 1e-3);
  widen(params, share);
  const ListRouter router(lists_, similarity_);
  if (params.nprobe != 0) {
    const auto routed = route(search, params);
    if (routed.empty()) return {};
    keep_near(search, gap_unit(similarity_, routed.front().key, lists_.facts()), scan);
    return scan_lists(search, routed, scan);
  }
  WideningRoute lists(router, search.query, search.scratch.centroids, search.scratch.route);
  float unit = 0;
  Progress progress;
  params.gap *= kFirstGap;
  for (int i = 0; i <= kMaxGapSteps; ++i, params.gap *= kGapStep) {
    const auto next =
        i < kMaxGapSteps ? lists.within(static_cast<float>(params.gap)) : lists.rest();
    if (i == 0 && next.empty()) break;
    if (i == 0) {
      unit = gap_unit(similarity_, next.front().key, lists_.facts());
      keep_near(search, unit, scan);
    }
    QV_TRY(const bool is_done, scan_near(search, params.stop, next, unit, progress, scan));
    if (is_done || lists.is_over()) break;
    if (i >= kStepsToUsualGap && scan.kept_share() >= kLeastKeptShare * share) break;
  }
  return {};
}

/// True if the filter denies the near rows.
bool CandidateSearch::is_misled(const Search& search, const CodeScan& scan) const {
  return scan.early_share() < kLeastShareForLists * search.selectivity;
}

/// The same, if sign codes are surer. Of a loose filter they are too many: lists are scanned
/// farther.
bool CandidateSearch::prefers_all_signs(const Search& search, const CodeScan& scan) const {
  return signs_ && search.selectivity <= cost::kTestFoundRowsAbove && is_misled(search, scan);
}

/// Scans lists in order. True if `stop`, the bytes read or the filter ended the scan.
Result<bool> CandidateSearch::scan_near(const Search& search, double stop,
                                        std::span<const Probe> probes, float unit,
                                        Progress& progress, CodeScan& scan) const {
  if (!lists_.depths()) {
    QV_TRY(scan_lists(search, probes, scan));
    return false;
  }
  while (!probes.empty()) {
    const std::size_t n_between =
        progress.n_lists == 0 ? kListsBeforeLook : 1 + progress.n_lists / kListsPerLongerLook;
    const auto next = probes.first(std::min(n_between, probes.size()));
    const auto near = next.first(next.size() - below(next, progress.least).size());
    QV_TRY(scan_lists(search, near, scan));
    const bool is_over = search.takes_too_long() || prefers_all_signs(search, scan);
    if (near.size() < next.size() || is_over) return true;
    probes = probes.subspan(next.size());
    progress.n_lists += next.size();
    look(search, stop, unit, progress, scan);
  }
  return false;
}

/// Decides which lists are still near enough.
void CandidateSearch::look(const Search& search, double stop, float unit, Progress& progress,
                           CodeScan& scan) const {
  const double share = std::max({search.selectivity, scan.allowed_share(), 1e-3});
  const double factor = is_misled(search, scan) ? kStopFactorIfMisled : stop_factor(share);
  const auto& depths = lists_.depths();
  const double depth = depths->middle + stop * factor * (depths->usual - depths->middle);
  progress.least = scan.narrow() - static_cast<float>(depth) * unit;
}

/// Keeps the rows whose estimates are so near the k-th best that one of them may be better.
void CandidateSearch::keep_near(const Search& search, float unit, CodeScan& scan) const {
  const double dim = lists_.facts().padded_dim;
  const double deviation = unit * kDeviationOfBits / std::sqrt(dim) /
                           static_cast<double>(1U << (lists_.facts().n_bits - 1));
  const auto k = static_cast<double>(std::max<std::size_t>(search.request.k, 10));
  const double unit_range = deviation * std::pow(10 / k, kDeviationsExponent);
  scan.keep_near({.k = search.request.k,
                  .range = static_cast<float>(kNearDeviations * unit_range),
                  .range_of_many = static_cast<float>(kNearDeviationsOfMany * unit_range),
                  .most = kMoreRows * search.request.params.rerank});
}

}  // namespace quiver::index::dense
